"""Interventions: which sensitive values to set, and worlds that follow them in part."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import LEVELS, largest_groups, other_groups, quantile_levels
from fairgear.hashing import node_uniform

if TYPE_CHECKING:
    from fairgear.causal.base import CausalModel

# The whole-graph intervention in which every group has equally many people. All others are numbered
# by the group that everybody is set to; of a number, by the place of its quantile in `LEVELS`, and
# in the mixture everybody has somebody's value.
MIXED = 0.5


def as_assignment(graph: SensitiveGraph, sens: Tensor | float) -> Tensor:
    """`sens`, one value for everybody or one each, as a checked vector (n,) like the graph's.

    Example:
        >>> from fairgear.causal import as_assignment
        >>> from fairgear.testing import toy_graph
        >>> as_assignment(toy_graph(), 1).unique().tolist()
        [1]
    """
    n = graph.sens.shape[0]
    if isinstance(sens, int) or (isinstance(sens, float) and graph.continuous):
        sens = torch.full((n,), sens, device=graph.sens.device, dtype=graph.sens.dtype)
    if graph.continuous:
        each = "a finite number"
    else:
        each = "0 or 1" if graph.num_groups == 2 else f"0 to {graph.num_groups - 1}"
    what, allowed = "counterfactual sens", f"{n} values, each {each}, or one value for everyone"
    if not isinstance(sens, Tensor):
        got = f"a {type(sens).__name__}"
        raise GraphError(what, got, f"a tensor: {allowed}", "convert it with torch.as_tensor")
    if graph.continuous:
        other = sens[~torch.isfinite(sens)]
    else:
        groups = torch.arange(graph.num_groups, device=sens.device)
        other = sens[~torch.isin(sens, groups.to(sens.dtype))]
    if tuple(sens.shape) != (n,) or len(other):
        value = f", {float(other.flatten()[0]):g} among the values" if len(other) else ""
        got = f"shape {tuple(sens.shape)}{value}"
        raise GraphError(what, got, allowed, "pass one value per person")
    return sens.to(graph.sens)


def at_rate(graph: SensitiveGraph, rate: float, *, draw: int = 0, seed: int = 0) -> Tensor:
    """A share `rate` of the people set to 1, the rest to 0; which ones depends on draw and seed.

    Exactly round(rate · n) people are set, those with the smallest noise, so the people set at a
    lower rate stay set at a higher one.

    Example:
        >>> from fairgear.causal import at_rate
        >>> from fairgear.testing import toy_graph
        >>> int(at_rate(toy_graph(), 0.25).sum())
        40
    """
    if not 0 <= rate <= 1:
        raise ParameterError("rate", rate, "0 to 1", "give the share of people to set to 1")
    noise = node_uniform(graph.node_id, seed, f"rate{draw}")
    sens = torch.zeros_like(graph.sens)
    sens[noise.argsort(stable=True)[: round(rate * len(sens))].to(sens.device)] = 1
    return sens


def whole_graph(graph: SensitiveGraph) -> tuple[float, ...]:
    """The whole-graph interventions: everybody in one group, for each of them, and `MIXED`.

    With two groups these are the rates 0, 0.5 and 1 of people set to 1. Of many groups, the largest
    are set. A number has everybody at each of its `LEVELS`.

    Example:
        >>> from fairgear.causal import whole_graph
        >>> from fairgear.testing import toy_graph
        >>> whole_graph(toy_graph())
        (0.0, 0.5, 1.0)
        >>> whole_graph(toy_graph(sens="continuous"))
        (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
    """
    if graph.continuous:
        return tuple(sorted([MIXED, *map(float, range(len(LEVELS)))]))
    groups = largest_groups(graph.sens.cpu().numpy(), graph.num_groups)
    return tuple(sorted([MIXED, *map(float, groups)]))


def intervention_name(graph: SensitiveGraph, which: float) -> str:
    """The name of a whole-graph intervention.

    Example:
        >>> from fairgear.causal import intervention_name, whole_graph
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> [intervention_name(graph, which) for which in whole_graph(graph)]
        ['rate 0', 'rate 0.5', 'rate 1']
    """
    if graph.continuous:
        return "mixed" if which == MIXED else f"quantile {LEVELS[int(which)]:g}"
    if graph.num_groups == 2:
        return f"rate {which:g}"
    return "mixed" if which == MIXED else f"group {which:g}"


def assigned(graph: SensitiveGraph, which: float, *, draw: int = 0, seed: int = 0) -> Tensor:
    """Everybody's value under a whole-graph intervention; `draw` and `seed` are for `MIXED`.

    Example:
        >>> from fairgear.causal import MIXED, assigned, whole_graph
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> {which: int(assigned(graph, which).sum()) for which in whole_graph(graph)}
        {0.0: 0, 0.5: 80, 1.0: 160}
    """
    if which != MIXED and graph.continuous:
        value = quantile_levels(graph.sens.cpu().numpy())[int(which)]
        return torch.full_like(graph.sens, float(value))
    if which != MIXED:
        return torch.full_like(graph.sens, int(which))
    return balanced(graph, draw=draw, seed=seed)


def balanced(graph: SensitiveGraph, *, draw: int = 0, seed: int = 0) -> Tensor:
    """Equally many people in each group, by the rank of their noise; of two, half are set to 1.

    The values of a number change hands: the person whose noise is smallest has the lowest.
    """
    order = node_uniform(graph.node_id, seed, f"rate{draw}").argsort(stable=True)
    if graph.continuous:
        values = torch.empty_like(graph.sens)
        values[order.to(values.device)] = graph.sens.sort().values
        return values
    n, groups = len(graph.sens), graph.num_groups
    ends = [round(part * n / groups) for part in range(groups + 1)]
    sens = torch.empty_like(graph.sens)
    for group, (begin, end) in enumerate(pairwise(ends)):
        sens[order[begin:end].to(sens.device)] = groups - 1 - group
    return sens


def changed_groups(graph: SensitiveGraph, rows: Tensor, *, seed: int = 0) -> Tensor:
    """Another group for each of some people, for the intervention *self*; 1 − s of two groups.

    Of a number, the value of somebody who has another one; their own if nobody has.

    Example:
        >>> import torch
        >>> from fairgear.causal import changed_groups
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> rows = torch.tensor([0, 5, 9])
        >>> bool((changed_groups(graph, rows) == 1 - graph.sens[rows]).all())
        True
    """
    own, ids = (of[rows.to(of.device)].cpu() for of in (graph.sens, graph.node_id))
    if graph.continuous:
        values = graph.sens.cpu().sort().values
        # Somebody's rank among the others, past those who have the same value.
        begin, end = (torch.searchsorted(values, own, right=last) for last in (False, True))
        others = len(values) - (end - begin)
        rank = (node_uniform(ids, seed, "self") * others).long().clamp(max=others - 1)
        rank += torch.where(rank >= begin, end - begin, 0)
        return values[rank.clamp(0, len(values) - 1)]
    noise = node_uniform(ids, seed, "self").numpy()
    return torch.from_numpy(other_groups(own.numpy(), noise, graph.num_groups))


def flipped(graph: SensitiveGraph, node: int) -> Tensor:
    """The factual values of two groups with one person's flipped: the intervention *self*.

    Example:
        >>> from fairgear.causal import flipped
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> (flipped(graph, 7) != graph.sens).nonzero().tolist()
        [[7]]
    """
    return with_group(graph, node, 1 - int(graph.sens[node]))


def with_group(graph: SensitiveGraph, node: int, group: float) -> Tensor:
    """The factual values but for one person's.

    Example:
        >>> from fairgear.causal import with_group
        >>> from fairgear.testing import toy_graph
        >>> with_group(toy_graph(sens="categorical"), node=7, group=2)[7].item()
        2
    """
    sens = graph.sens.clone()
    sens[node] = group
    return sens


def at_random(graph: SensitiveGraph, *, draw: int = 0, seed: int = 0) -> Tensor:
    """Everybody in any group with equal probability.

    For people whose value stays this is the intervention *neighbours*, for the others *both*. Of
    a number hardly anybody would draw their own value: a random half keep it, as with two groups,
    and the others get somebody's.

    Example:
        >>> from fairgear.causal import at_random
        >>> from fairgear.testing import toy_graph
        >>> drawn = at_random(toy_graph(), seed=1)
        >>> drawn.unique().tolist()
        [0, 1]
    """
    noise = node_uniform(graph.node_id, seed, f"random{draw}")
    if graph.continuous:
        keep = node_uniform(graph.node_id, seed, f"keeps{draw}") < 0.5
        return torch.where(keep.to(graph.sens.device), graph.sens, _somebodys(graph, noise))
    groups = graph.num_groups
    return (groups - 1 - (noise * groups).long()).to(graph.sens)


def _somebodys(graph: SensitiveGraph, noise: Tensor) -> Tensor:
    """The values at these ranks in [0, 1) of everybody's: draws from the observed law."""
    values = graph.sens.sort().values
    place = (noise * len(values)).long().clamp(max=len(values) - 1)
    return values[place.to(values.device)]


def attribute_only(graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
    """The factual graph with the attribute set, and its column if there is one.

    Example:
        >>> from fairgear.causal import attribute_only
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> world = attribute_only(graph, 1 - graph.sens)
        >>> bool((world.x[:, graph.sens_column] == world.sens).all())
        True
    """
    return graph.replace(x=_with_column(graph, graph.x, sens), sens=sens, mechanism=None)


def features_only(graph: SensitiveGraph, world: SensitiveGraph) -> SensitiveGraph:
    """The world's attribute and features on the factual edges.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.causal import features_only, for_graph
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> world = for_graph(graph).counterfactual(graph, 1 - graph.sens)
        >>> features_only(graph, world).edge_index.equal(graph.edge_index)
        True
    """
    return graph.replace(x=world.x, sens=world.sens, mechanism=None)


def structure_only(graph: SensitiveGraph, world: SensitiveGraph) -> SensitiveGraph:
    """The world's attribute and edges with the factual features.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.causal import for_graph, structure_only
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> world = for_graph(graph).counterfactual(graph, 1 - graph.sens)
        >>> structure_only(graph, world).edge_index.equal(world.edge_index)
        True
    """
    x = _with_column(graph, graph.x, world.sens)
    return graph.replace(
        x=x,
        edge_index=world.edge_index,
        edge_weight=world.edge_weight,
        sens=world.sens,
        mechanism=None,
    )


def structure_with(world: SensitiveGraph, x: Tensor) -> SensitiveGraph:
    """The world with other features, except in the attribute's column.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.causal import structure_with
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> structure_with(graph, 2 * graph.x).edge_index.equal(graph.edge_index)
        True
    """
    return world.replace(x=_with_column(world, x, world.sens), mechanism=None)


def released_world(
    model: CausalModel,
    graph: SensitiveGraph,
    sens: Tensor | int,
    *,
    share: float | None = None,
    seed: int = 0,
) -> SensitiveGraph:
    """The softened counterfactual of the authors' released files.

    The sensitive column changes in full; edges, labels and ego members stay factual. The other
    features change little. With an exact model they become (1 − share)·X + share·X', as in the
    authors' synthetic files, share 0.1. With any other they become
    (1 − share)·X + share·(s' − s)·Δ, where Δ is the difference of the groups' means, as in the
    authors' files of real graphs, share 0.05. The second shrinks features even where nobody's
    attribute changes; a placebo measures that effect.

    Example:
        >>> from fairgear.causal import for_graph, released_world
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> world = released_world(for_graph(graph), graph, 1)
        >>> world.edge_index.equal(graph.edge_index), world.sens.unique().tolist()
        (True, [1])
    """
    if share is None:
        share = 0.1 if model.exact else 0.05
    sens = as_assignment(graph, sens)
    if model.exact:
        world = model.counterfactual(graph, sens, seed=seed)
        x = (1 - share) * graph.x + share * world.x
        # Unchanged values must not change by rounding.
        x = torch.where(world.x == graph.x, graph.x, x)
    else:
        direction = (sens - graph.sens).to(graph.x.dtype)[:, None]
        x = (1 - share) * graph.x + share * direction * _difference_of_means(graph)
    return graph.replace(x=_with_column(graph, x, sens), sens=sens, mechanism=None)


def _difference_of_means(graph: SensitiveGraph) -> Tensor:
    """E[X | s = 1] − E[X | s = 0], summed in order of the ids; 0 if a group is empty."""
    order = graph.canonical.rows.to(graph.x.device)
    x, sens = graph.x[order].double(), graph.sens[order]
    if not 0 < int(sens.sum()) < len(sens):
        return torch.zeros_like(graph.x[0])
    return (x[sens == 1].mean(dim=0) - x[sens == 0].mean(dim=0)).to(graph.x.dtype)


def _with_column(graph: SensitiveGraph, x: Tensor, sens: Tensor) -> Tensor:
    x = x.clone()
    if graph.sens_column is not None:
        x[:, graph.sens_column] = sens.to(x.dtype)
    return x

"""Which sensitive values to ask about: whole-graph rates, one person, the people around."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.causal.base import CausalModel, as_assignment
from fairgear.causal.noise import node_uniform
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph

RATES = (0.0, 0.5, 1.0)


def at_rate(graph: SensitiveGraph, rate: float, *, draw: int = 0, seed: int = 0) -> Tensor:
    """A share `rate` of the nodes set to 1, the rest to 0; which ones depends on draw and seed.

    Exactly round(rate · n) nodes are set, those with the smallest noise, so that the nodes set
    at a lower rate stay set at a higher one.
    """
    if not 0 <= rate <= 1:
        raise ParameterError("rate", rate, "0 to 1", "give the share of nodes to set to 1")
    noise = node_uniform(graph.node_id, seed, f"rate{draw}")
    sens = torch.zeros_like(graph.sens)
    sens[noise.argsort(stable=True)[: round(rate * len(sens))].to(sens.device)] = 1
    return sens


def flipped(graph: SensitiveGraph, node: int) -> Tensor:
    """The factual values with one node's flipped: the intervention *self*."""
    sens = graph.sens.clone()
    sens[node] = 1 - sens[node]
    return sens


def at_random(graph: SensitiveGraph, *, draw: int = 0, seed: int = 0) -> Tensor:
    """Every node 0 or 1 with equal chance.

    For a node whose value stayed this is the intervention *neighbours*, for the others *both*.
    """
    noise = node_uniform(graph.node_id, seed, f"random{draw}")
    return (noise < 0.5).to(graph.sens)


def released_world(
    model: CausalModel,
    graph: SensitiveGraph,
    sens: Tensor | int,
    *,
    share: float | None = None,
    seed: int = 0,
) -> SensitiveGraph:
    """The softened counterfactual of the authors' released files.

    The sensitive column moves in full; edges, labels and ego members stay factual. The other
    features move little: with an exact model to (1 − share)·X + share·X', as in the authors'
    synthetic files, share 0.1; with any other to (1 − share)·X + share·(s' − s)·Δ, Δ the
    difference of the groups' means, as in those of the real graphs, share 0.05. The second shrinks
    features even where nobody's attribute changes: a placebo tells its effect apart.
    """
    share = released_share(model) if share is None else share
    sens = as_assignment(graph, sens)
    if model.exact:
        world = model.counterfactual(graph, sens, seed=seed)
        x = (1 - share) * graph.x + share * world.x
        # Where nothing moved, rounding must not move it either.
        x = torch.where(world.x == graph.x, graph.x, x)
    else:
        direction = (sens - graph.sens).to(graph.x.dtype)[:, None]
        x = (1 - share) * graph.x + share * direction * _difference_of_means(graph)
    if graph.sens_column is not None:
        x[:, graph.sens_column] = sens.to(x.dtype)
    return graph.replace(x=x, sens=sens, mechanism=None)


def released_share(model: CausalModel) -> float:
    """How much of a change the authors' files keep: 0.1 of exact worlds, 0.05 of the others."""
    return 0.1 if model.exact else 0.05


def _difference_of_means(graph: SensitiveGraph) -> Tensor:
    """E[X | s = 1] − E[X | s = 0], summed in the order of the ids; 0 where a group is empty."""
    order = graph.node_id.argsort()
    x, sens = graph.x[order].double(), graph.sens[order]
    if not 0 < int(sens.sum()) < len(sens):
        return torch.zeros_like(graph.x[0])
    return (x[sens == 1].mean(dim=0) - x[sens == 0].mean(dim=0)).to(graph.x.dtype)

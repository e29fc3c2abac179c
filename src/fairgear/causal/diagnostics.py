"""Diagnostics: what a causal model does to a graph under the whole-graph interventions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch
from torch import Tensor

from fairgear.causal.interventions import MIXED, assigned, intervention_name, whole_graph
from fairgear.files import json_ready
from fairgear.graph import SensitiveGraph, degrees, groups_of
from fairgear.graph.targets import known_labels, labels_differ

if TYPE_CHECKING:
    from fairgear.causal.base import CausalModel


@dataclass(frozen=True)
class Shape:
    """The shape of one graph."""

    edges: int
    degree_mean: float
    degree_quantiles: tuple[float, ...]
    """The minimum, the quartiles, the 95 % quantile and the maximum."""
    isolated: int
    label_homophily: float
    """The share of edges, among people of known labels, that join equal labels; NaN if none,
    and for numbers."""
    sens_homophily: float
    """The share of edges that join people of the same group, or of the same of the factual
    graph's ranges of a number; NaN without edges."""


@dataclass(frozen=True)
class Effect:
    """What one intervention changes.

    Attributes:
        intervention: "all 0", "all 1" or "half"; of more groups, "mixed"; of a number,
            "quantile 0.05" and so on.
        people_set: share of people whose sensitive value changes.
        people_moved: share of people whose other features change.
        feature_change: mean absolute change of those features among the people set, in standard
            deviations of each column.
        edges_added, edges_removed: against the factual graph.
        labels_changed: number of known labels that change.
        before, after: the two graphs.

    Example:
        >>> import fairgear as fg
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> effect = fg.causal.for_graph(graph).diagnostics(graph).effects[0]
        >>> effect.intervention, effect.people_set
        ('all 0', 0.335)
    """

    intervention: str
    people_set: float
    people_moved: float
    feature_change: float
    edges_added: int
    edges_removed: int
    labels_changed: int
    before: Shape
    after: Shape

    @property
    def added_share(self) -> float:
        """Edges added, as a share of the factual ones."""
        return self.edges_added / self.before.edges if self.before.edges else math.nan

    @property
    def removed_share(self) -> float:
        """Edges removed, as a share of the factual ones."""
        return self.edges_removed / self.before.edges if self.before.edges else math.nan


@dataclass(frozen=True)
class Diagnostics:
    """A causal model's account of itself.

    Attributes:
        model: its name.
        exact: whether its equations are those that made the graph.
        effects: one for each whole-graph intervention.
        quality: how well a fitted model describes the graph; empty if nothing is fitted.
        notes: sentences that every result of the model must be read with.
        diagram: the parents of each node of the user's diagram, the attribute among them; empty
            without one.
        resolving: the nodes that keep their values.

    Example:
        >>> import fairgear as fg
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> found = fg.causal.for_graph(graph).diagnostics(graph)
        >>> found.model, found.exact
        ('synthetic', True)
        >>> [effect.intervention for effect in found.effects]
        ['all 0', 'all 1', 'half']
    """

    model: str
    exact: bool
    effects: tuple[Effect, ...]
    quality: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    diagram: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resolving: tuple[str, ...] = ()

    def __repr__(self) -> str:
        effects = "; ".join(
            f"{one.intervention}: +{one.edges_added:,} −{one.edges_removed:,} edges"
            for one in self.effects
        )
        return f"<Diagnostics of {self.model!r}: {effects}>"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; None where undefined."""
        ready: dict[str, Any] = json_ready(asdict(self))
        return ready

    def to_frame(self) -> pd.DataFrame:
        """One row per intervention."""
        rows = []
        for effect in self.effects:
            row = {k: v for k, v in asdict(effect).items() if k not in ("before", "after")}
            row |= {"added_share": effect.added_share, "removed_share": effect.removed_share}
            for when, shape in (("before", effect.before), ("after", effect.after)):
                row |= {f"{key}_{when}": value for key, value in asdict(shape).items()}
            rows.append(row)
        return pd.DataFrame(rows)


def diagnose(
    model: CausalModel,
    graph: SensitiveGraph,
    *,
    seed: int = 0,
    worlds: Mapping[float, SensitiveGraph] | None = None,
) -> Diagnostics:
    """Everybody in each group, and as many in all; taken from `worlds`, if given."""
    before, effects = _shape(graph, graph), []
    for which in sorted(whole_graph(graph), key=lambda one: (one == MIXED, one)):
        if graph.continuous:
            name = intervention_name(graph, which)
        else:
            half = "half" if graph.num_groups == 2 else "mixed"
            name = half if which == MIXED else f"all {which:g}"
        if worlds is not None and which in worlds:
            world = worlds[which]
        else:
            world = model.counterfactual(graph, assigned(graph, which, seed=seed), seed=seed)
        effects.append(_effect(name, graph, world, before))
    return Diagnostics(
        model.name,
        model.exact,
        tuple(effects),
        model._quality(),
        model.notes,
        *model._diagram(),
    )


def edge_changes(before: SensitiveGraph, after: SensitiveGraph) -> tuple[Tensor, Tensor]:
    """Edges added and removed, each (2, m): once, the smaller row first, or arcs.

    Example:
        >>> import torch
        >>> import fairgear as fg
        >>> from fairgear.causal import edge_changes, for_graph
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> everybody = torch.ones(200, dtype=torch.int64)
        >>> added, removed = edge_changes(graph, for_graph(graph).counterfactual(graph, everybody))
        >>> added.shape[0], removed.shape[0]
        (2, 2)
    """
    n = len(before.x)
    old, new = (_pairs(graph, n) for graph in (before, after))
    added, removed = new[~torch.isin(new, old)], old[~torch.isin(old, new)]
    return torch.stack([added // n, added % n]), torch.stack([removed // n, removed % n])


def _shape(graph: SensitiveGraph, factual: SensitiveGraph) -> Shape:
    degree = degrees(graph.edge_index, len(graph.x)).double()
    quantiles = torch.quantile(degree, torch.tensor([0, 0.25, 0.5, 0.75, 0.95, 1.0]).to(degree))
    source, target = graph.edge_index
    known = known_labels(graph.y)[source] & known_labels(graph.y)[target]
    alike = (graph.y[source] == graph.y[target])[known]
    group = groups_of(factual, graph.sens)
    return Shape(
        edges=graph.num_undirected_edges,
        degree_mean=float(degree.mean()),
        degree_quantiles=tuple(quantiles.tolist()),
        isolated=int((degree == 0).sum()),
        label_homophily=math.nan if graph.target.is_number else _share(alike),
        sens_homophily=_share(group[source] == group[target]),
    )


def _effect(name: str, graph: SensitiveGraph, world: SensitiveGraph, before: Shape) -> Effect:
    added, removed = edge_changes(graph, world)
    columns = [k for k in range(graph.x.shape[1]) if k != graph.sens_column]
    change = (world.x[:, columns].double() - graph.x[:, columns].double()).abs()
    spread = graph.x[:, columns].double().std(dim=0)
    scaled = change / torch.where(spread > 0, spread, 1.0)
    moved, set_to = (change > 0).any(dim=1), world.sens != graph.sens
    return Effect(
        intervention=name,
        people_set=_share(set_to),
        people_moved=_share(moved),
        feature_change=float(scaled[set_to].mean()) if bool(set_to.any()) and columns else 0.0,
        edges_added=added.shape[1],
        edges_removed=removed.shape[1],
        labels_changed=int((labels_differ(world.y, graph.y) & known_labels(graph.y)).sum()),
        before=before,
        after=_shape(world, graph),
    )


def _pairs(graph: SensitiveGraph, n: int) -> Tensor:
    source, target = graph.edge_index
    keys: Tensor = (source * n + target)[(source < target) | graph.directed]
    return keys


def _share(which: Tensor) -> float:
    return float(which.double().mean()) if len(which) else math.nan

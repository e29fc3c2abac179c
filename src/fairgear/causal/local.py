"""A world in which few people change, as its differences from the factual graph.

One person's world should cost their surroundings, not the graph: nothing else is copied, sorted or
checked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.features.base import Floats, Integers
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.canonical import versions
from fairgear.graph.edges import changed_arcs, changed_edges
from fairgear.graph.targets import labels_differ

_NONE = torch.empty(0, dtype=torch.int64)
_NO_WEIGHTS = torch.empty(0, dtype=torch.float64)
_NO_PAIRS = torch.empty(2, 0, dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class LocalWorld:
    """What a counterfactual graph has that the factual one has not; tensors on the CPU.

    Attributes:
        factual: the graph that it differs from.
        rows: (m,), the people whose attribute or features change, ascending.
        sens: (m,), their attribute.
        x: (m, d), their features.
        removed, added: (2, ·), the edges that go and come, between rows, each pair once; arcs of a
            directed graph. An edge whose weight changes goes and comes.
        labelled: the rows whose label changes.
        y: their labels.
        added_weight: the weights of the edges that come, if edges have any.
        forgets: whether the graph's mechanism did not make this world.
        make: the whole graph by other means, where these fields may not say all.

    Example:
        >>> import torch
        >>> from fairgear.causal import for_graph
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> local = for_graph(graph).local(graph, torch.tensor([3]), 1 - graph.sens[3:4])
        >>> local.rows.tolist()
        [3]
    """

    factual: SensitiveGraph
    rows: Tensor
    sens: Tensor
    x: Tensor
    removed: Tensor = _NO_PAIRS
    added: Tensor = _NO_PAIRS
    labelled: Tensor = _NONE
    y: Tensor = _NONE
    added_weight: Tensor = _NO_WEIGHTS
    forgets: bool = False
    make: Callable[[], SensitiveGraph] | None = field(default=None, repr=False)

    @classmethod
    def unchanged(cls, factual: SensitiveGraph) -> Self:
        """The factual graph itself."""
        return cls(factual, _NONE, factual.sens[:0].cpu(), factual.x[:0].cpu())

    @classmethod
    def between(cls, factual: SensitiveGraph, make: Callable[[], SensitiveGraph]) -> Self:
        """The differences of the graph that `make` gives."""
        world = make()
        moved = (world.x != factual.x).any(dim=1) | (world.sens != factual.sens)
        rows = moved.nonzero()[:, 0]
        labelled = labels_differ(world.y, factual.y).nonzero()[:, 0]
        removed, _ = _edges_beyond(factual, world)
        added, weight = _edges_beyond(world, factual)
        return cls(
            factual,
            rows.cpu(),
            world.sens[rows].cpu(),
            world.x[rows].cpu(),
            removed,
            added,
            labelled.cpu(),
            world.y[labelled].cpu(),
            weight,
            make=make,
        )

    def graph(self) -> SensitiveGraph:
        """The whole graph."""
        if self.make is not None:
            return self.make()
        factual = self.factual
        device = factual.x.device
        x, y, sens = factual.x.clone(), factual.y.clone(), factual.sens.clone()
        rows = self.rows.to(device)
        x[rows], sens[rows] = self.x.to(x), self.sens.to(sens)
        y[self.labelled.to(device)] = self.y.to(y)
        mechanism = None if self.forgets and len(rows) else factual.mechanism
        return factual.replace(x=x, y=y, sens=sens, mechanism=mechanism, **self._links())

    def links_kept(self) -> Self:
        """The same people on the factual links."""
        return replace(
            self,
            removed=_NO_PAIRS,
            added=_NO_PAIRS,
            added_weight=_NO_WEIGHTS,
            forgets=True,
            make=None,
        )

    def with_features(self, x: Tensor) -> Self:
        """The same with other features (m, d), except in the attribute's column."""
        x, column = x.to(self.x.dtype, copy=True), self.factual.sens_column
        if column is not None:
            x[:, column] = self.sens.to(x.dtype)
        return replace(self, x=x, forgets=True, make=None)

    def _links(self) -> dict[str, Tensor]:
        """The fields of edges that are not the factual ones."""
        factual, removed, added = self.factual, self.removed, self.added
        n, edges = len(factual.x), factual.edge_index
        if not removed.shape[1] and not added.shape[1]:
            return {}
        if factual.plain:
            return {"edge_index": changed_edges(edges, removed, added, n)}
        weight = self.added_weight
        if not factual.directed:
            removed, added = (torch.cat([of, of.flip(0)], dim=1) for of in (removed, added))
            weight = torch.cat([weight, weight])
        edges, kept = changed_arcs(edges, removed, added, n)
        if factual.edge_weight is None:
            return {"edge_index": edges}
        old = factual.edge_weight
        return {"edge_index": edges, "edge_weight": torch.cat([old[kept], weight.to(old)])}


def _edges_beyond(one: SensitiveGraph, other: SensitiveGraph) -> tuple[Tensor, Tensor]:
    """The edges of a graph that another has not, or has with another weight; and their weights."""
    n = len(one.x)
    keys, weights = zip(*(_keyed(graph, n) for graph in (one, other)), strict=True)
    missing = ~np.isin(keys[0], keys[1], assume_unique=True)
    if len(weights[0]) and len(weights[1]):
        at = np.minimum(np.searchsorted(keys[1], keys[0]), len(keys[1]) - 1)
        missing |= weights[0] != weights[1][at]
    pairs = np.stack(np.divmod(keys[0][missing], n))
    kept = weights[0][missing] if len(weights[0]) else weights[0]
    return torch.from_numpy(pairs), torch.from_numpy(kept)


def _keyed(graph: SensitiveGraph, n: int) -> tuple[Integers, Floats]:
    """Each edge once, as the number of its pair, ascending, with its weight if it has one."""
    source, target = graph.edge_index.cpu().numpy()
    once = (source < target) | graph.directed
    weight = graph.edge_weight
    values = np.empty(0) if weight is None else weight.detach().cpu().double().numpy()[once]
    return (source * n + target)[once], values


class Snapshot:
    """Tells whether a graph is still the one that something was computed from, at no cost."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self._source = _fields(graph)

    def holds(self, graph: SensitiveGraph) -> bool:
        """Whether these are the same tensors, and unchanged."""
        now = _fields(graph)
        same = len(now) == len(self._source)
        return same and all(a is b and m == n for (a, m), (b, n) in zip(self._source, now))  # noqa: B905  # compared before


def _fields(graph: SensitiveGraph) -> list[tuple[Tensor, int]]:
    weight = [] if graph.edge_weight is None else [graph.edge_weight]
    return versions(graph.x, graph.edge_index, graph.sens, graph.y, graph.node_id, *weight)


def changing(graph: SensitiveGraph, rows: Tensor, sens: Tensor) -> tuple[Integers, NDArray[Any]]:
    """Of `rows`, those whose attribute would be another, ascending, and the new values."""
    n, number = len(graph.sens), graph.continuous
    wanted = rows.cpu().numpy()
    values = sens.cpu().numpy().astype(np.float64 if number else np.int64)
    # Sets, not arrays: there are few rows, and as many calls as people.
    different = wanted.shape == (len(values),) and len(set(wanted.tolist())) == len(wanted)
    if number:
        known, each = bool(np.isfinite(values).all()), "a finite number"
    else:
        known = set(values.tolist()) <= set(range(graph.num_groups))
        each = f"0 to {graph.num_groups - 1}"
    if not different or not known:
        got = f"rows of shape {wanted.shape} and values of shape {values.shape}"
        allowed = f"different rows, and {each} for each"
        raise GraphError("people of a local world", got, allowed, "pass one value a row")
    if len(wanted) and not 0 <= wanted.min() <= wanted.max() < n:
        got, allowed = f"rows {wanted.min()} to {wanted.max()}", f"0 to {n - 1}"
        raise GraphError("people of a local world", got, allowed, "pass rows of the graph")
    order = np.argsort(wanted)
    wanted, values = wanted[order].astype(np.int64), values[order]
    other = graph.sens[torch.from_numpy(wanted).to(graph.sens.device)].cpu().numpy() != values
    return wanted[other], values[other]

"""A world in which few people change, as its differences from the factual graph.

One person's world should cost their surroundings, not the graph: nothing else is copied, sorted or
checked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.features.base import Integers
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.canonical import versions
from fairgear.graph.edges import changed_edges
from fairgear.graph.targets import labels_differ

_NONE = torch.empty(0, dtype=torch.int64)
_NO_PAIRS = torch.empty(2, 0, dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class LocalWorld:
    """What a counterfactual graph has that the factual one has not; tensors on the CPU.

    Attributes:
        factual: the graph that it differs from.
        rows: (m,), the people whose attribute or features change, ascending.
        sens: (m,), their attribute.
        x: (m, d), their features.
        removed, added: (2, ·), the edges that go and come, between rows, each pair once.
        labelled: the rows whose label changes.
        y: their labels.
        forgets: whether the graph's mechanism did not make this world.
        make: the whole graph by other means, where these fields may not say all.
    """

    factual: SensitiveGraph
    rows: Tensor
    sens: Tensor
    x: Tensor
    removed: Tensor = _NO_PAIRS
    added: Tensor = _NO_PAIRS
    labelled: Tensor = _NONE
    y: Tensor = _NONE
    forgets: bool = False
    make: Callable[[], SensitiveGraph] | None = field(default=None, repr=False)

    @classmethod
    def unchanged(cls, factual: SensitiveGraph) -> Self:
        """The factual graph itself."""
        return cls(factual, _NONE, _NONE, factual.x[:0].cpu())

    @classmethod
    def between(cls, factual: SensitiveGraph, make: Callable[[], SensitiveGraph]) -> Self:
        """The differences of the graph that `make` gives."""
        world = make()
        moved = (world.x != factual.x).any(dim=1) | (world.sens != factual.sens)
        rows = moved.nonzero()[:, 0]
        labelled = labels_differ(world.y, factual.y).nonzero()[:, 0]
        n = len(factual.x)
        old, new = (
            (edges[0] * n + edges[1])[edges[0] < edges[1]].cpu().numpy()
            for edges in (factual.edge_index, world.edge_index)
        )
        removed, added = (
            torch.from_numpy(np.stack(np.divmod(np.setdiff1d(one, two, assume_unique=True), n)))
            for one, two in ((old, new), (new, old))
        )
        return cls(
            factual,
            rows.cpu(),
            world.sens[rows].cpu(),
            world.x[rows].cpu(),
            removed,
            added,
            labelled.cpu(),
            world.y[labelled].cpu(),
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
        edges = factual.edge_index
        if self.removed.shape[1] or self.added.shape[1]:
            edges = changed_edges(edges, self.removed, self.added, len(x))
        mechanism = None if self.forgets and len(rows) else factual.mechanism
        return factual.replace(x=x, y=y, sens=sens, edge_index=edges, mechanism=mechanism)


class Snapshot:
    """Tells whether a graph is still the one that something was computed from, at no cost."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self._source = versions(graph.x, graph.edge_index, graph.sens, graph.y, graph.node_id)

    def holds(self, graph: SensitiveGraph) -> bool:
        """Whether these are the same tensors, and unchanged."""
        now = versions(graph.x, graph.edge_index, graph.sens, graph.y, graph.node_id)
        return all(a is b and m == n for (a, m), (b, n) in zip(self._source, now, strict=True))


def changing(graph: SensitiveGraph, rows: Tensor, sens: Tensor) -> tuple[Integers, Integers]:
    """Of `rows`, those whose attribute would be another, ascending, and the new values."""
    n = len(graph.sens)
    wanted, values = rows.cpu().numpy(), sens.cpu().numpy().astype(np.int64)
    # Sets, not arrays: there are few rows, and as many calls as people.
    different = wanted.shape == (len(values),) and len(set(wanted.tolist())) == len(wanted)
    if not different or not set(values.tolist()) <= {0, 1}:
        got = f"rows of shape {wanted.shape} and values of shape {values.shape}"
        allowed = "different rows, and 0 or 1 for each"
        raise GraphError("people of a local world", got, allowed, "pass one value a row")
    if len(wanted) and not 0 <= wanted.min() <= wanted.max() < n:
        got, allowed = f"rows {wanted.min()} to {wanted.max()}", f"0 to {n - 1}"
        raise GraphError("people of a local world", got, allowed, "pass rows of the graph")
    order = np.argsort(wanted)
    wanted, values = wanted[order].astype(np.int64), values[order]
    other = graph.sens[torch.from_numpy(wanted).to(graph.sens.device)].cpu().numpy() != values
    return wanted[other], values[other]

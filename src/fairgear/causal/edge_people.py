"""The factual graph as the edge model sees it: people in the order of their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.edge_kernel import Floats, Integers
from fairgear.graph import SensitiveGraph, undirected_edges


@dataclass(frozen=True, eq=False)
class People:
    """Ids, features, groups and edges, all in the order of the ids.

    Everything downstream is computed in this order, so that the order of the graph's rows cannot
    reach a single bit of it.

    Attributes:
        ids: (n,), ascending.
        order: (n,), the graph's row of each.
        table: (n, d), features.
        sens: (n,), 0 or 1.
        edges: (2, m), each once, the lower first, sorted.
    """

    ids: Integers
    order: Integers
    table: Floats
    sens: Integers
    edges: Integers
    degree: Integers = field(init=False)

    def __post_init__(self) -> None:
        degree = np.bincount(self.edges.ravel(), minlength=len(self.ids))
        object.__setattr__(self, "degree", degree)

    @classmethod
    def of(cls, graph: SensitiveGraph) -> People:
        """The people of a graph."""
        node_id = graph.node_id.cpu().numpy()
        order = np.argsort(node_id, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        source, target = place[graph.edge_index.cpu().numpy()]
        once = source < target
        first, second = source[once], target[once]
        by_place = np.argsort(first * len(order) + second)
        return cls(
            ids=node_id[order],
            order=order,
            table=graph.x.cpu().numpy().astype(np.float64)[order],
            sens=graph.sens.cpu().numpy().astype(np.int64)[order],
            edges=np.stack([first[by_place], second[by_place]]),
        )

    @property
    def count(self) -> int:
        """How many people."""
        return len(self.ids)

    @property
    def pairs(self) -> int:
        """How many pairs of them."""
        return self.count * (self.count - 1) // 2

    @cached_property
    def _log_degrees(self) -> Floats:
        # One logarithm a degree: the same degree gives the same bits whatever its place.
        return np.log1p(np.arange(int(self.degree.max(initial=0)) + 1, dtype=np.float64))

    @cached_property
    def _edge_keys(self) -> Integers:
        return self.keys(self.edges[0], self.edges[1])

    def keys(self, first: Integers, second: Integers) -> Integers:
        """One number a pair, whichever end comes first."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        return low * self.count + high

    def joined(self, first: Integers, second: Integers) -> NDArray[np.bool_]:
        """Which pairs are edges."""
        wanted = self.keys(first, second)
        if not len(self._edge_keys):
            return np.zeros(len(wanted), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._edge_keys, wanted), len(self._edge_keys) - 1)
        return np.asarray(self._edge_keys[at] == wanted)

    def activity(self, first: Integers, second: Integers, joined: Integers) -> Floats:
        """log(1 + d_i) + log(1 + d_j), neither counting the other; `joined` is 1 for edges."""
        logs, degree = self._log_degrees, self.degree
        result: Floats = logs[degree[first] - joined] + logs[degree[second] - joined]
        return result

    def edge_index(self, pairs: Integers) -> Tensor:
        """Pairs (2, m) as the edges of a graph in its own order of rows."""
        return undirected_edges(torch.from_numpy(self.order[pairs]), self.count)

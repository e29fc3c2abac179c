"""The canonical order of a graph: nodes numbered by the rank of their node_id.

Whatever depends on the order of nodes (a sum of floats, a tie, a random draw) works in this
numbering, so that reordering the rows of a graph changes nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.errors import GraphError
from fairgear.graph.edges import in_order, sort_edges, sorting_order
from fairgear.graph.patched import PatchedLists

Ints = NDArray[np.int64]
Keys = NDArray[np.int32]
Floats = NDArray[np.float64]
Csr = tuple[Ints, Keys]


class Canonical:
    """Rows by node id, and the edges in that numbering; on the CPU, computed when first used.

    Args:
        node_id: (n,), all different.
        edge_index: (2, E), both directions of each edge, or arcs.
        csr: the neighbour lists of the rows, where they are known; they are checked when used.
        edge_weight: (E,), if edges have weights.
        directed: whether they are arcs.

    Attributes:
        rows: (n,), the row of each number.
        numbers: (n,), the number of each row.
        sorted: whether the rows are in canonical order already.
    """

    def __init__(
        self,
        node_id: Tensor,
        edge_index: Tensor,
        csr: Csr | None = None,
        edge_weight: Tensor | None = None,
        directed: bool = False,
    ) -> None:
        self._source = versions(*_present(node_id, edge_index, edge_weight))
        self._edge_index = edge_index
        self._edge_weight = edge_weight
        self.directed = directed
        self._csr = csr
        ids = node_id.cpu()
        self.sorted = in_order(ids)
        if self.sorted:
            self.rows = self.numbers = torch.arange(len(ids))
        else:
            self.rows = rows_by_id(ids)
            self.numbers = torch.empty_like(self.rows)
            self.numbers[self.rows] = torch.arange(len(ids))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Canonical({len(self):,} nodes)"

    def is_of(
        self,
        node_id: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        directed: bool = False,
    ) -> bool:
        """Whether it was made of these tensors as they are now."""
        now = versions(*_present(node_id, edge_index, edge_weight))
        same = len(now) == len(self._source) and directed == self.directed
        return same and all(a is b and m == n for (a, m), (b, n) in zip(self._source, now))  # noqa: B905  # compared before

    @property
    def plain(self) -> bool:
        """Whether edges have neither directions nor weights."""
        return not self.directed and self._edge_weight is None

    @cached_property
    def csr(self) -> Csr:
        """`indptr` (n + 1) and `indices` (E): the sorted neighbours of each number.

        Of a directed graph, those whom it points to.
        """
        n = len(self)
        if self._csr is not None:
            indptr, indices = map(np.asarray, self._csr)
            check_csr(indptr, indices, directed=self.directed)
            if self.sorted:
                return indptr, indices
            numbers = self.numbers.numpy()
            key = np.repeat(numbers * n, np.diff(indptr))
            key += numbers[indices]
            return csr_from_keys(key, n)
        source, target = self._edge_index.cpu()
        if not self.sorted:
            source, target = self.numbers[source], self.numbers[target]
        return csr_from_keys((source * n + target).numpy(), n)

    @cached_property
    def weights(self) -> Floats | None:
        """(E,), the weight of each entry of `csr`; None if edges have none."""
        if self._edge_weight is None:
            return None
        given: Floats = self._edge_weight.detach().cpu().double().numpy()
        ends = self._edge_index.cpu()
        order = sorting_order(ends if self.sorted else self.numbers[ends], len(self))
        return given if order is None else given[order.numpy()]

    @cached_property
    def incoming(self) -> tuple[Csr, Floats | None]:
        """Who points to each number, as `csr` and `weights` have whom it points to.

        The same lists, unless the graph is directed.
        """
        if not self.directed:
            return self.csr, self.weights
        n, (indptr, indices) = len(self), self.csr
        key = np.repeat(np.arange(n), np.diff(indptr)) + indices.astype(np.int64) * n
        order = np.argsort(key, kind="stable")
        lists = csr_from_keys(key[order], n)
        return lists, None if self.weights is None else self.weights[order]

    @cached_property
    def patched(self) -> PatchedLists:
        """The incoming lists, which can be changed for a while."""
        lists, weights = self.incoming
        return PatchedLists(*lists, weights, directed=self.directed)

    @cached_property
    def edge_index(self) -> Tensor:
        """(2, E), both directions of each edge between numbers, or arcs; sorted."""
        edges = self._edge_index.cpu()
        return sort_edges(edges if self.sorted else self.numbers[edges], len(self))

    def in_rows(self, edge_index: Tensor) -> Tensor:
        """Edges between numbers as sorted edges between the rows of the graph."""
        return edge_index if self.sorted else sort_edges(self.rows[edge_index], len(self))

    def by_id(self, rows: Tensor) -> Tensor:
        """Some rows of the graph, each at most once, in the order of their ids."""
        chosen = torch.zeros(len(self), dtype=torch.bool)
        chosen[rows.cpu()] = True
        return self.rows[chosen[self.rows]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # It is never changed, and `is_of` tells that it is not of the copied tensors.
        return self


def rows_by_id(node_id: Tensor) -> Tensor:
    """Rows in the order of their ids, on the CPU."""
    return node_id.cpu().argsort()


def csr_from_keys(key: Ints, num_nodes: int) -> Csr:
    """Neighbour lists of edges given as source · num_nodes + target; `key` is sorted in place."""
    if not (key[1:] > key[:-1]).all():
        # Sorting the keys themselves needs half the memory of an argsort.
        key.sort()
    indptr = np.searchsorted(key, np.arange(num_nodes + 1) * num_nodes)
    return indptr.astype(np.int64, copy=False), (key % num_nodes).astype(np.int32)


def check_csr(indptr: Ints, indices: Keys, *, directed: bool = False) -> None:
    """Refuse neighbour lists that are out of range, unsorted or not of an undirected graph.

    Those of a directed graph may be one-sided.
    """
    shape = indptr.ndim == 1 and indices.ndim == 1 and len(indptr) > 0
    if not shape or indptr.dtype != np.int64 or indices.dtype != np.int32:
        raise _refused(
            f"{indptr.dtype} of shape {indptr.shape} and {indices.dtype} of shape {indices.shape}",
            "int64 of shape (nodes + 1,) and int32 of shape (edges,)",
        )
    if indptr[0] != 0 or indptr[-1] != len(indices) or bool((np.diff(indptr) < 0).any()):
        raise _refused(
            f"indptr from {indptr[0]} to {indptr[-1]}", f"rising from 0 to {len(indices)}"
        )
    wrong = _first_wrong(indptr, indices, directed)
    if wrong >= 0:
        raise _refused(
            f"row {wrong}, which is not sorted, or not that of an undirected graph",
            "rising neighbours, none twice or the node itself, each edge in both its rows",
        )


def _refused(got: str, allowed: str) -> GraphError:
    next_step = "build them from the edges of fairgear.graph.undirected_edges"
    return GraphError("indptr and indices", got, allowed, next_step)


def versions(*tensors: Tensor) -> list[tuple[Tensor, int]]:
    """The tensors, each with a number that grows when it is changed in place."""
    # Tensors made in inference mode have no version, and cannot be changed outside it.
    return [(one, 0 if one.is_inference() else one._version) for one in tensors]


def _present(*tensors: Tensor | None) -> list[Tensor]:
    return [one for one in tensors if one is not None]


@compiled
def _first_wrong(indptr: Ints, indices: Keys, directed: bool) -> int:
    n = len(indptr) - 1
    # Rows are read in rising order, so each must be the next entry of its neighbours' rows.
    following = indptr[:-1].copy()
    for node in range(n):
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            if other < 0 or other >= n or other == node:
                return node
            if edge > indptr[node] and other <= indices[edge - 1]:
                return node
            if directed:
                continue
            twin = following[other]
            if twin >= indptr[other + 1] or indices[twin] != node:
                return node
            following[other] = twin + 1
    return -1

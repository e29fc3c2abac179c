"""Neighbour lists as two arrays: row u of `indices` runs from indptr[u] to indptr[u + 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled
from fairgear.egos.table import Ints, Keys
from fairgear.errors import GraphError

Hashes = NDArray[np.uint64]


def from_keys(key: Ints, num_nodes: int) -> tuple[Ints, Keys]:
    """Rows and neighbours of edges given as source · num_nodes + target, which get sorted."""
    if not (key[1:] > key[:-1]).all():
        # The keys themselves: their places would need as much memory again.
        key.sort()
    indptr = np.searchsorted(key, np.arange(num_nodes + 1) * num_nodes)
    return indptr.astype(np.int64, copy=False), (key % num_nodes).astype(np.int32)


def check(indptr: Ints, indices: Keys) -> None:
    """Refuse rows that are out of range, unsorted or not those of an undirected graph."""
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
    wrong = _first_wrong(indptr, indices)
    if wrong >= 0:
        raise _refused(
            f"row {wrong}, which is not sorted, or not that of an undirected graph",
            "rising neighbours, none twice or the node itself, each edge in both its rows",
        )


def _refused(got: str, allowed: str) -> GraphError:
    return GraphError(
        "indptr and indices",
        got,
        allowed,
        "build them from the edges of fairgear.graph.undirected_edges",
    )


@compiled
def _first_wrong(indptr: Ints, indices: Keys) -> int:
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
            twin = following[other]
            if twin >= indptr[other + 1] or indices[twin] != node:
                return node
            following[other] = twin + 1
    return -1


@compiled
def components(indptr: Ints, indices: Keys) -> tuple[Keys, Ints]:
    """The component of each node, numbered by their first nodes, and how many nodes it has."""
    n = len(indptr) - 1
    label = np.full(n, -1, np.int32)
    size = np.empty(n, np.int64)
    queue = np.empty(n, np.int32)
    found = 0
    for root in range(n):
        if label[root] >= 0:
            continue
        label[root] = found
        queue[0] = root
        done, waiting = 0, 1
        while done < waiting:
            node = queue[done]
            done += 1
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                if label[other] < 0:
                    label[other] = found
                    queue[waiting] = other
                    waiting += 1
        for place in range(waiting):
            size[queue[place]] = waiting
        found += 1
    return label, size


@compiled
def neighbour_sums(indptr: Ints, indices: Keys, own: Hashes) -> Hashes:
    """For each node the sum of its neighbours' hashes."""
    sums = np.zeros(len(indptr) - 1, np.uint64)
    for node in range(len(sums)):
        for edge in range(indptr[node], indptr[node + 1]):
            sums[node] += own[indices[edge]]
    return sums

"""Neighbour lists that take the form of another world for a while, and the people around somebody.

A world of one person differs in few lists. These are written behind the others, and found there
until the world is left: nothing else is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Ints = NDArray[np.int64]
Keys = NDArray[np.int32]

# Places behind the lists, at first.
_ROOM = 2**16


class PatchedLists:
    """The neighbours of node i are ends[begin[i] : begin[i] + degree[i]], ascending.

    Args:
        indptr, indices: the lists of the factual graph.
    """

    def __init__(self, indptr: Ints, indices: Keys) -> None:
        self.begin: Ints = indptr[:-1].copy()
        self.degree: Keys = np.diff(indptr).astype(np.int32)
        self.ends: Keys = np.concatenate([indices, np.empty(_ROOM, np.int32)])
        self._known = len(indices)
        # Scratch of `around`: −1 wherever nothing is going on.
        self._mark: Ints = np.full(len(self.begin), -1)

    @contextmanager
    def world(self, removed: Ints, added: Ints) -> Iterator[Ints]:
        """Inside, without some edges and with others, each (2, m) and once.

        Yields the nodes whose lists differ, ascending.
        """
        n = len(self.begin)
        gone, fresh = (_directed(np.ascontiguousarray(of), n) for of in (removed, added))
        nodes = _either(gone[0], fresh[0])
        before = self.begin[nodes], self.degree[nodes]
        room = int(before[1].sum()) + fresh.shape[1]
        if self._known + room > len(self.ends):
            self.ends = np.concatenate([self.ends[: self._known], np.empty(2 * room, np.int32)])
        try:
            _patch(self.begin, self.degree, self.ends, self._known, nodes, gone, fresh)
            yield nodes
        finally:
            self.begin[nodes], self.degree[nodes] = before

    def around(self, nodes: Ints, hops: int) -> tuple[Ints, NDArray[np.bool_], Ints]:
        """Everybody within so many steps of some nodes, ascending; who is nearer; and edges.

        The edges (2, m) go from every neighbour to everybody nearer than `hops`, as places among
        the members, sorted by the second end and then the first.
        """
        return _around(self.begin, self.degree, self.ends, self._mark, nodes, hops)


@compiled
def _directed(pairs: Ints, n: int) -> Ints:
    """Both directions, sorted."""
    keys = np.concatenate((pairs[0] * n + pairs[1], pairs[1] * n + pairs[0]))
    keys.sort()
    both = np.empty((2, len(keys)), dtype=np.int64)
    for at in range(len(keys)):
        both[0, at], both[1, at] = keys[at] // n, keys[at] % n
    return both


@compiled
def _either(one: Ints, two: Ints) -> Ints:
    """The numbers in either, ascending and once."""
    return np.unique(np.concatenate((one, two)))


@compiled
def _patch(
    begin: Ints, degree: Keys, ends: Keys, free: int, nodes: Ints, gone: Ints, fresh: Ints
) -> None:
    """Writes the new lists of `nodes` from the place `free` on; all arguments are sorted."""
    g, f = 0, 0
    for node in nodes:
        old, count = begin[node], degree[node]
        start = free
        at = old
        while at < old + count or (f < fresh.shape[1] and fresh[0, f] == node):
            new = f < fresh.shape[1] and fresh[0, f] == node
            if new and (at == old + count or fresh[1, f] < ends[at]):
                ends[free] = fresh[1, f]
                f += 1
                free += 1
                continue
            if g < gone.shape[1] and gone[0, g] == node and gone[1, g] == ends[at]:
                g += 1
            else:
                ends[free] = ends[at]
                free += 1
            at += 1
        begin[node], degree[node] = start, free - start


@compiled
def _around(
    begin: Ints, degree: Keys, ends: Keys, mark: Ints, nodes: Ints, hops: int
) -> tuple[Ints, NDArray[np.bool_], Ints]:
    found, count = np.empty(1024, dtype=np.int64), 0
    found, count = _joined(nodes, mark, found, count)
    done, edges = 0, 0
    for _ in range(hops):
        level = count
        for place in range(done, level):
            node = found[place]
            edges += degree[node]
            around = ends[begin[node] : begin[node] + degree[node]]
            found, count = _joined(around, mark, found, count)
        done = level
    inner = np.zeros(count, dtype=np.bool_)
    nearer = np.sort(found[:done])
    members = np.sort(found[:count])
    for place in range(count):
        mark[members[place]] = place
    joined = np.empty((2, edges), dtype=np.int64)
    written = 0
    for node in nearer:
        inner[mark[node]] = True
        for at in range(begin[node], begin[node] + degree[node]):
            joined[0, written], joined[1, written] = mark[ends[at]], mark[node]
            written += 1
    for node in members:
        mark[node] = -1
    return members, inner, joined


@compiled
def _joined(nodes: NDArray[Any], mark: Ints, found: Ints, count: int) -> tuple[Ints, int]:
    """`found`, with those of the nodes that were not there."""
    for node in nodes:
        if mark[node] < 0:
            mark[node] = 0
            found = _roomy(found, count)
            found[count] = node
            count += 1
    return found, count


@compiled
def _roomy(values: Ints, count: int) -> Ints:
    """The array, twice as long if `count` fill it."""
    return values if count < len(values) else np.concatenate((values, np.empty_like(values)))

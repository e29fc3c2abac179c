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
Floats = NDArray[np.float64]

# Places behind the lists, at first.
_ROOM = 2**16


class PatchedLists:
    """The neighbours of node i are ends[begin[i] : begin[i] + degree[i]], ascending.

    Args:
        indptr, indices: the lists of the factual graph; who points to each node if it is directed.
        weights: of the entries, if edges have any.
        directed: whether edges are arcs, so that each is in one list alone.
    """

    def __init__(
        self,
        indptr: Ints,
        indices: Keys,
        weights: Floats | None = None,
        *,
        directed: bool = False,
    ) -> None:
        self.begin: Ints = indptr[:-1].copy()
        self.degree: Keys = np.diff(indptr).astype(np.int32)
        self.ends: Keys = np.concatenate([indices, np.empty(_ROOM, np.int32)])
        # Beside `ends`; of length 0 where edges have no weights.
        self.weights: Floats = (
            np.empty(0) if weights is None else np.concatenate([weights, np.empty(_ROOM)])
        )
        self._directed = directed
        self._known = len(indices)
        # Scratch of `around`: −1 wherever nothing is going on.
        self._mark: Ints = np.full(len(self.begin), -1)

    @contextmanager
    def world(
        self, removed: Ints, added: Ints, new_weights: Floats | None = None
    ) -> Iterator[Ints]:
        """Inside, without some edges and with others, each (2, m) and once.

        The latter have the weights `new_weights`, if edges have any. Yields the nodes whose lists
        differ, ascending.
        """
        n = len(self.begin)
        new = np.empty(0) if new_weights is None else new_weights
        if self._directed or len(self.weights):
            gone, _ = self._entries(removed)
            fresh, order = self._entries(added)
            new = new[order] if len(self.weights) else new
        else:
            gone, fresh = (_both_ways(np.ascontiguousarray(of), n) for of in (removed, added))
        nodes = _either(gone[0], fresh[0])
        before = self.begin[nodes], self.degree[nodes]
        room = int(before[1].sum()) + fresh.shape[1]
        if self._known + room > len(self.ends):
            self.ends = np.concatenate([self.ends[: self._known], np.empty(2 * room, np.int32)])
            if len(self.weights):
                known = self.weights[: self._known]
                self.weights = np.concatenate([known, np.empty(2 * room)])
        try:
            _patch(
                self.begin,
                self.degree,
                self.ends,
                self.weights,
                self._known,
                nodes,
                gone,
                fresh,
                new,
            )
            yield nodes
        finally:
            self.begin[nodes], self.degree[nodes] = before

    def around(self, nodes: Ints, hops: int) -> tuple[Ints, NDArray[np.bool_], Ints, Floats]:
        """Everybody within so many steps of some nodes, ascending; who is nearer; and edges.

        The edges (2, m) go from every neighbour to everybody nearer than `hops`, as places among
        the members, sorted by the second end and then the first; with their weights, if any.
        """
        return _around(self.begin, self.degree, self.ends, self.weights, self._mark, nodes, hops)

    def strength(self, nodes: Ints) -> Floats:
        """The sum of the weights in the lists of some nodes."""
        return strengths(self.begin[nodes], self.degree[nodes], self.weights)

    def _entries(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Edges (2, m) as entries (list, neighbour), sorted, and the edge of each."""
        row, other = pairs[1], pairs[0]
        number = np.arange(pairs.shape[1])
        if not self._directed:
            row, other = np.concatenate([row, other]), np.concatenate([other, row])
            number = np.concatenate([number, number])
        order = np.argsort(row * len(self.begin) + other)
        return np.stack([row, other])[:, order], number[order]


@compiled
def strengths(begin: Ints, degree: Keys, weights: Floats) -> Floats:
    """The sums of weights[begin : begin + degree], one number after another."""
    found = np.zeros(len(begin))
    for at in range(len(begin)):
        for place in range(begin[at], begin[at] + degree[at]):
            found[at] += weights[place]
    return found


@compiled
def _both_ways(pairs: Ints, n: int) -> Ints:
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
    begin: Ints,
    degree: Keys,
    ends: Keys,
    weights: Floats,
    free: int,
    nodes: Ints,
    gone: Ints,
    fresh: Ints,
    new_weights: Floats,
) -> None:
    """Writes the new lists of `nodes` from the place `free` on; all arguments are sorted."""
    weighted = len(weights) > 0
    g, f = 0, 0
    for node in nodes:
        old, count = begin[node], degree[node]
        start = free
        at = old
        while at < old + count or (f < fresh.shape[1] and fresh[0, f] == node):
            new = f < fresh.shape[1] and fresh[0, f] == node
            if new and (at == old + count or fresh[1, f] < ends[at]):
                ends[free] = fresh[1, f]
                if weighted:
                    weights[free] = new_weights[f]
                f += 1
                free += 1
                continue
            if g < gone.shape[1] and gone[0, g] == node and gone[1, g] == ends[at]:
                g += 1
            else:
                ends[free] = ends[at]
                if weighted:
                    weights[free] = weights[at]
                free += 1
            at += 1
        begin[node], degree[node] = start, free - start


@compiled
def _around(
    begin: Ints, degree: Keys, ends: Keys, weights: Floats, mark: Ints, nodes: Ints, hops: int
) -> tuple[Ints, NDArray[np.bool_], Ints, Floats]:
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
    used = np.empty(edges if len(weights) else 0)
    written = 0
    for node in nearer:
        inner[mark[node]] = True
        for at in range(begin[node], begin[node] + degree[node]):
            joined[0, written], joined[1, written] = mark[ends[at]], mark[node]
            if len(weights):
                used[written] = weights[at]
            written += 1
    for node in members:
        mark[node] = -1
    return members, inner, joined, used


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

"""The egos of few people in a world that differs from a known graph by few edges.

They are those that a search in the whole world finds, to the bit: the same search runs on the
known graph's arrays, in which what the edges change (lists, degrees, twins, components) is written
for a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.egos.batches import pack_members
from fairgear.egos.pagerank import PageRank, search_egos
from fairgear.egos.push import Flags, Graph, Ints, Keys, Lists
from fairgear.egos.structure import Hashes, Structure, neighbour_sums
from fairgear.errors import GraphError
from fairgear.graph.canonical import Canonical
from fairgear.hashing import mix


class NearbyEgos:
    """Finds egos in worlds of one graph; made once for it.

    Args:
        canonical: the graph's.

    Example:
        >>> from fairgear.egos import NearbyEgos
        >>> from fairgear.testing import toy_graph
        >>> nearby = NearbyEgos(toy_graph().canonical)
    """

    def __init__(self, canonical: Canonical) -> None:
        if not canonical.plain:
            step = "build an EgoIndex of the world's graph"
            got, allowed = "directions or weights of edges", "neither"
            raise GraphError("egos near changed edges", got, allowed, step)
        structure = Structure.of_canonical(canonical)
        self.canonical = canonical
        self._lists = canonical.patched
        self._twins, n = structure.twins, structure.num_nodes
        self._component, self._size = structure.component, structure.component_size
        by_component = np.argsort(structure.component, kind="stable")
        self._members = by_component.astype(np.int32)
        labels = np.arange(int(structure.component.max(initial=-1)) + 2)
        self._first = np.searchsorted(structure.component[by_component], labels)
        self._own = mix(np.arange(n, dtype=np.uint64))
        sums = neighbour_sums(*canonical.csr, self._own)
        connected = np.flatnonzero(structure.degrees > 0)
        self._classes = []
        for key in (sums, sums + self._own):
            order = connected[np.argsort(key[connected], kind="stable")]
            self._classes.append((key, key[order], order))
        self._touched = np.zeros(n, dtype=np.bool_)
        self._mark = np.full(n, -1, dtype=np.int32)
        self._follow = np.full(n, -1, dtype=np.int32)

    def find(
        self, how: PageRank, removed: Tensor, added: Tensor, nodes: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Members (rows), mask and words of the egos of `nodes`, as in an `EgoIndex`.

        `removed` and `added` are the edges, pairs of rows and each once, that the world has not
        and has.
        """
        numbers = self.canonical.numbers.numpy()
        sources, gone, fresh = (numbers[of.cpu().numpy()] for of in (nodes, removed, added))
        lists = self._lists
        with (
            lists.world(gone, fresh) as touched,
            self._new_twins(touched),
            self._new_components(touched, sources),
        ):
            near: Lists = (lists.begin, lists.ends, lists.degree)
            graph: Graph = (*near, lists.degree, None)
            ids, mask, _ = search_egos(
                graph, self._twins, self._component, self._size, sources, how
            )
            words = pack_members(near, ids, mask)
        return self.canonical.rows[torch.from_numpy(ids)], torch.from_numpy(mask), words

    @contextmanager
    def _new_twins(self, touched: Ints) -> Iterator[None]:
        """Inside, the twins of the world."""
        lists = self._lists
        sums = _sums_of(lists.begin, lists.degree, lists.ends, self._own, touched)
        linked = lists.degree[touched] > 0
        self._touched[touched] = True
        classes = [
            _classes(ordered, order, key[touched], new[linked], touched[linked], self._touched)
            for (key, ordered, order), new in zip(
                self._classes, (sums, sums + self._own[touched]), strict=True
            )
        ]
        members = np.concatenate([touched, *(one[0] for one in classes)])
        before = self._twins[members]
        self._twins[members] = members[:, None]
        for one in classes:
            several = one[:, one[1] != one[2]]
            self._twins[several[0]] = several[1:].T
        try:
            yield
        finally:
            self._twins[members] = before
            self._touched[touched] = False

    @contextmanager
    def _new_components(self, touched: Ints, sources: Ints) -> Iterator[None]:
        """Inside, the components of the world, and their sizes at `sources`."""
        lists = self._lists
        visited, group, closed = _groups(
            lists.begin, lists.degree, lists.ends, touched, self._mark, self._follow
        )
        old = np.unique(self._component[touched])
        if len(old) <= 1 and not closed[group].any():
            # Nobody is cut off, and nobody joins.
            yield
            return
        sizes = np.diff(self._first)[old]
        # Whoever is not in a closed group is in the one that is open, and all its parts take the
        # name of the largest.
        kept = old[np.argmax(sizes)] if len(old) else -1
        others = old[old != kept].tolist()
        moved = [self._members[self._first[one] : self._first[one + 1]] for one in others]
        inside = np.flatnonzero(closed[group])
        rows = np.concatenate([*moved, visited[inside]]).astype(np.int64)
        labels = np.concatenate(
            [
                np.full(sum(map(len, moved)), kept),
                len(self._first) + group[inside].astype(np.int64),
            ]
        )
        before, sizes_before = self._component[rows], self._size[sources]
        known = set(old.tolist())
        near = np.array([one in known for one in self._component[sources].tolist()], dtype=np.bool_)
        self._component[rows] = labels
        counts = np.bincount(group[inside], minlength=len(touched) + 1)
        mine = self._component[sources]
        fresh = mine - len(self._first)
        self._size[sources[near]] = np.where(
            fresh >= 0, counts[np.maximum(fresh, 0)], sizes.sum() - len(inside)
        )[near]
        try:
            yield
        finally:
            # In reverse: a person may be written twice.
            self._component[rows[::-1]] = before[::-1]
            self._size[sources] = sizes_before


@compiled
def _sums_of(begin: Ints, degree: Keys, ends: Keys, own: Hashes, nodes: Ints) -> Hashes:
    """The sum of the neighbours' hashes of some nodes."""
    sums = np.zeros(len(nodes), np.uint64)
    for at in range(len(nodes)):
        node = nodes[at]
        for edge in range(begin[node], begin[node] + degree[node]):
            sums[at] += own[ends[edge]]
    return sums


@compiled
def _classes(
    ordered: Hashes, order: Ints, old: Hashes, new: Hashes, nodes: Ints, touched: Flags
) -> Ints:
    """The members of classes that change, each with the first two of its class: (3, m).

    Those with the same hash in `ordered` were a class; `touched` ones have left it, where their
    hash was `old`, and `nodes` are where it is `new`. Who is alone is twice the first.
    """
    by_key = np.argsort(new, kind="mergesort")
    new, nodes = new[by_key], nodes[by_key]
    keys = np.sort(np.concatenate((old, new)))
    found = np.empty((3, 1024), dtype=np.int64)
    count = 0
    for at in range(len(keys)):
        if at > 0 and keys[at] == keys[at - 1]:
            continue
        begin = count
        place = np.searchsorted(ordered, keys[at])
        while place < len(ordered) and ordered[place] == keys[at]:
            if not touched[order[place]]:
                found = _wider(found, count)
                found[0, count] = order[place]
                count += 1
            place += 1
        place = np.searchsorted(new, keys[at])
        while place < len(new) and new[place] == keys[at]:
            found = _wider(found, count)
            found[0, count] = nodes[place]
            count += 1
            place += 1
        first = second = found[0, begin]
        for member in found[0, begin + 1 : count]:
            if member < first or second == first:
                first, second = min(first, member), max(first, member)
            else:
                second = min(second, member)
        found[1, begin:count], found[2, begin:count] = first, second
    return found[:, :count].copy()


@compiled
def _wider(values: Ints, count: int) -> Ints:
    if count < values.shape[1]:
        return values
    return np.concatenate((values, np.empty_like(values)), axis=1)


@compiled
def _root(parent: Ints, at: int) -> int:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@compiled
def _groups(
    begin: Ints, degree: Keys, ends: Keys, nodes: Ints, mark: Keys, follow: Keys
) -> tuple[Ints, Keys, Flags]:
    """Searches from all nodes at once, until all but one group are known to the end.

    Returns who was visited, in which group (the place of one of the nodes in it), and which groups
    are closed: everybody in them was visited. `mark` and `follow` are scratch, −1 before and after.
    """
    count = len(nodes)
    parent = np.arange(count)
    head, tail = nodes.copy(), nodes.copy()
    visited = np.empty(max(1024, count), dtype=np.int64)
    total = 0
    for at in range(count):
        mark[nodes[at]] = at
        visited[total] = nodes[at]
        total += 1
    open_groups = count
    waiting = np.zeros(count, dtype=np.bool_)
    while open_groups > 1:
        for at in range(count):
            node = head[at]
            if node < 0:
                continue
            for edge in range(begin[node], begin[node] + degree[node]):
                other = ends[edge]
                if mark[other] >= 0:
                    one, two = _root(parent, mark[other]), _root(parent, at)
                    parent[max(one, two)] = min(one, two)
                    continue
                mark[other] = at
                follow[tail[at]] = other
                tail[at] = other
                if total == len(visited):
                    visited = np.concatenate((visited, np.empty_like(visited)))
                visited[total] = other
                total += 1
            head[at] = follow[node]
        open_groups = _open(parent, head, waiting)
    _open(parent, head, waiting)
    group = np.empty(total, dtype=np.int32)
    for place in range(total):
        node = visited[place]
        group[place] = _root(parent, mark[node])
    for place in range(total):
        mark[visited[place]] = follow[visited[place]] = -1
    return visited[:total].copy(), group, ~waiting


@compiled
def _open(parent: Ints, head: Ints, waiting: Flags) -> int:
    """Marks the groups in which somebody waits to be searched, and counts them."""
    waiting[:] = False
    for at in range(len(head)):
        if head[at] >= 0:
            waiting[_root(parent, at)] = True
    return int(waiting.sum())

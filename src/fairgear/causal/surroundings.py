"""The people around some people, in several worlds of one graph side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.features.base import Integers
from fairgear.causal.local import LocalWorld
from fairgear.graph import SensitiveGraph


class Neighborhoods:
    """The neighbours of anybody in some worlds: the factual lists, with what differs in each.

    People are named by keys, number of the world · n + canonical number, so that the worlds are
    parts of one graph.

    Args:
        worlds: all of the same factual graph; none for the factual graph itself.
    """

    def __init__(self, factual: SensitiveGraph, worlds: Sequence[LocalWorld]) -> None:
        self.n = len(factual.x)
        self._indptr, self._indices = factual.canonical.csr
        numbers = factual.canonical.numbers

        def ends(parts: list[Tensor]) -> tuple[Integers, Integers]:
            """Both directions of the pairs of all worlds, sorted: keys, and numbers of the ends."""
            pairs = numbers[torch.cat(parts, dim=1)].numpy()
            lengths = [part.shape[1] for part in parts]
            first = np.repeat(np.arange(len(parts)) * self.n, lengths)
            keys = np.concatenate([first + pairs[0], first + pairs[1]])
            others = np.concatenate([pairs[1], pairs[0]])
            order = np.lexsort((others, keys))
            return keys[order], others[order]

        empty = torch.empty(2, 0, dtype=torch.int64)
        gone = ends([world.removed for world in worlds] or [empty])
        self._gone = gone[0] * self.n + gone[1]
        self._gone_keys = gone[0]
        self._added_keys, self._added = ends([world.added for world in worlds] or [empty])

    def of(self, keys: Integers) -> tuple[Integers, Integers]:
        """The neighbours of some people: places in `keys`, ascending, and the neighbours' keys."""
        number = keys % self.n
        begin = self._indptr[number]
        owner, place = _ranges(begin, self._indptr[number + 1] - begin)
        found = self._indices[place].astype(np.int64)
        base = keys - number
        if len(self._gone):
            kept = ~_among(keys[owner] * self.n + found, self._gone)
            owner, found = owner[kept], found[kept]
        begin = np.searchsorted(self._added_keys, keys, side="left")
        end = np.searchsorted(self._added_keys, keys, side="right")
        if (end > begin).any():
            new_owner, place = _ranges(begin, end - begin)
            owner = np.concatenate([owner, new_owner])
            found = np.concatenate([found, self._added[place]])
            order = np.lexsort((found, owner))
            owner, found = owner[order], found[order]
        return owner, base[owner] + found

    def degree(self, keys: Integers) -> Integers:
        """How many neighbours they have."""
        number = keys % self.n
        count = self._indptr[number + 1] - self._indptr[number]
        for changed, sign in ((self._gone_keys, -1), (self._added_keys, 1)):
            low, high = (np.searchsorted(changed, keys, side=side) for side in ("left", "right"))
            count = count + sign * (high - low)
        result: Integers = count
        return result


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a network of so many layers reads to score some people, each in a world of its own.

    Members are sorted by world and canonical number.

    Attributes:
        keys: (m,), the members, see `Neighborhoods`.
        targets: places of the people in question, one after another of the first world, and so on.
        edges: (2, E), places (neighbour, person) for every neighbour of everybody nearer than
            `hops`; sorted by person.
        degree: (m,), how many neighbours each has in their world.
        inner: (m,), who is nearer than `hops`, so that all neighbours are members.
        rows: (m,), rows of the factual graph.
        x, sens: features (m, d) and attribute (m,) in their world; on the CPU.
    """

    keys: Integers
    targets: Integers
    edges: Integers
    degree: Integers
    inner: NDArray[np.bool_]
    rows: Tensor
    x: Tensor
    sens: Tensor

    @classmethod
    def of(cls, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor], hops: int) -> Self:
        """Around the rows `nodes[i]` of the factual graph in `worlds[i]`."""
        factual = worlds[0].factual
        lists, n, order = Neighborhoods(factual, worlds), len(factual.x), factual.canonical
        wanted = _keys_of(order.numbers.numpy(), nodes, n)
        keys = frontier = np.unique(wanted)
        inner, parts = frontier[:0], []
        for _ in range(hops):
            owner, found = lists.of(frontier)
            parts.append(np.stack([found, frontier[owner]]))
            inner = np.concatenate([inner, frontier])
            frontier = np.setdiff1d(found, keys)
            keys = np.union1d(keys, frontier)
        joined = np.concatenate(parts, axis=1) if parts else np.empty((2, 0), dtype=np.int64)
        edges = np.searchsorted(keys, joined)
        edges = edges[:, np.lexsort((edges[0], edges[1]))]
        is_inner = np.zeros(len(keys), dtype=np.bool_)
        is_inner[np.searchsorted(keys, inner)] = True
        rows = order.rows[torch.from_numpy(keys % n)]
        here = rows.to(factual.x.device)
        x, sens = factual.x[here].cpu(), factual.sens[here].cpu()
        changed = _keys_of(order.numbers.numpy(), [world.rows for world in worlds], n)
        place = np.minimum(np.searchsorted(keys, changed), len(keys) - 1)
        member = torch.from_numpy(keys[place] == changed)
        at = torch.from_numpy(place)[member]
        x[at] = torch.cat([world.x for world in worlds])[member].to(x.dtype)
        sens[at] = torch.cat([world.sens for world in worlds])[member]
        targets = np.searchsorted(keys, wanted)
        return cls(keys, targets, edges, lists.degree(keys), is_inner, rows, x, sens)

    @cached_property
    def rim(self) -> tuple[Integers, Integers]:
        """The members with neighbours who are no members' edges here, and how many those are."""
        known = np.bincount(self.edges[0][~self.inner[self.edges[0]]], minlength=len(self.keys))
        missing = np.where(self.inner, 0, self.degree - known)
        at = np.flatnonzero(missing)
        return at, missing[at]


def _keys_of(numbers: Integers, rows: Sequence[Tensor], n: int) -> Integers:
    """The keys of the rows of each world, one world after another."""
    lengths = [len(part) for part in rows]
    keys: Integers = np.repeat(np.arange(len(rows)) * n, lengths)
    keys += numbers[torch.cat([part.cpu() for part in rows]).numpy()]
    return keys


def _ranges(begin: Integers, count: Integers) -> tuple[Integers, Integers]:
    """For ranges begin[i], begin[i] + 1, …: the i of each number, and the numbers."""
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - first[owner] + begin[owner]


def _among(values: Integers, known: Integers) -> NDArray[np.bool_]:
    """Which values are among some sorted ones, of which there are some."""
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)

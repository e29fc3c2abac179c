"""The nearest people of each person of a large graph, found once for all of its worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fairgear.causal.edges.kernel import Integers
from fairgear.causal.edges.model import World
from fairgear.causal.edges.terms import EdgeTerms
from fairgear.compiled import in_chunks

# Larger graphs have lists: in smaller ones the nearest are sought in every world anew.
LISTED_ABOVE = 50_000
# A person who is left out is at most so many times as far away, less one, as one who is not. Exact
# search takes six times as long in ten columns.
_INEXACT = 1.0
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class NearLists:
    """Who is near each person, once they have another value, in the world where all have it.

    Without columns to compare nobody is nearer than others, and lists hold the person alone.

    One search for each value serves every world of an audit, also those of other causal models:
    who is near decides only which pairs are looked at.

    Attributes:
        terms: of the edge model, which say what is near.
        values: the values that worlds are made for, ascending.
        world: the world in which everybody has a value.
        count: how many people a list holds.
    """

    terms: EdgeTerms
    values: NDArray[Any]
    world: Callable[[Any], World]
    count: int
    _found: dict[int, NDArray[np.int32]] = field(default_factory=dict)

    def of(self, rows: Integers, sens: NDArray[Any]) -> Integers:
        """(rows, count): the nearest of each, had they the value `sens`; by the nearest known."""
        apart = np.abs(sens[:, None] - self.values[None])
        known = apart.argmin(axis=1)
        result = np.empty((len(rows), self.count), dtype=np.int64)
        for place in np.unique(known).tolist():
            chosen = known == place
            result[chosen] = self._lists(place)[rows[chosen]]
        return result

    def _lists(self, place: int) -> NDArray[np.int32]:
        """(n, count), of those whom the value changes; made on first use."""
        if place not in self._found:
            world = self.world(self.values[place])
            points = self.terms.points(world.prepared(self.terms))
            everyone = np.arange(len(points))
            found = np.repeat(everyone.astype(np.int32)[:, None], self.count, axis=1)
            # Where every value has its lists, nobody who has it already is moved to it.
            every = self.terms.groups == len(self.values)
            rows = np.flatnonzero(world.changed) if every else everyone
            tree = cKDTree(points)

            def work(start: int, stop: int) -> None:
                part, nearest = rows[start:stop], range(1, self.count + 1)
                found[part] = tree.query(points[part], k=nearest, eps=_INEXACT)[1]

            if points.shape[1]:
                in_chunks(work, len(rows), _CHUNK, "finding who is near whom")
            self._found[place] = found
        return self._found[place]

"""Where to look for new edges in graphs too large to compare every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from fairgear.causal.edge_kernel import Floats, Integers
from fairgear.causal.edge_model import EdgeModel, World
from fairgear.causal.noise import node_hash
from fairgear.progress import bar

# Nearest people of each changed person that are looked at.
NEAREST = 32
# Two people who share only somebody with more neighbours than this are not looked at.
HUB = 1000
_CHUNK = 1024
# People of whom every pair is looked at to estimate what is missed: an error of some 10 % of it.
_ASKED = 200


@dataclass(frozen=True)
class Missed:
    """The new edges that lie outside the candidates, as estimated from a sample of pairs."""

    expected: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of a changed person with whoever is two steps away or among their nearest.

    Nearness is that of the edge model, in the new world.
    """

    model: EdgeModel
    world: World

    def edges(self, seed: int) -> Integers:
        """The world's edges, new ones only among the candidates."""
        rows = np.flatnonzero(self.world.changed)
        first, second = [], []
        with bar("looking for new edges", total=len(rows)) as shown:
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                for i, j in (self._two_steps(part), self._nearest(part)):
                    # Only pairs that come into being are kept: candidates outnumber edges.
                    apart = ~self.world.people.joined(i, j)
                    i, j = i[apart], j[apart]
                    new = self.model.survives(self.world, i, j, seed)
                    first.append(i[new])
                    second.append(j[new])
                shown.advance(len(part))
        none = np.empty(0, dtype=np.int64)
        return self.model.edges_among(
            self.world, np.concatenate([none, *first]), np.concatenate([none, *second]), seed
        )

    def missed(self, seed: int) -> Missed:
        """The expected number of new edges among pairs that are not looked at.

        Of a sample of the changed people, drawn by a hash of their ids, every pair is looked at;
        the chances of a new edge outside the candidates are summed and scaled up.
        """
        people, changed = self.world.people, self.world.changed
        rows = np.flatnonzero(changed)
        asked = rows[np.argsort(node_hash(people.ids[rows], seed, "missed"))[:_ASKED]]
        sums = []
        with bar("estimating what is missed", total=len(asked)) as shown:
            for row in asked:
                others = np.flatnonzero(self._overlooked(row))
                chance = self.model.probability(self.world, np.full(len(others), row), others)
                # A pair of two changed people is met from both ends.
                sums.append(float(chance @ np.where(changed[others], 0.5, 1.0)))
                shown.advance()
        if len(sums) < 2:
            return Missed(float(sum(sums)), 0.0)
        error = np.std(sums, ddof=1) / np.sqrt(len(sums)) * np.sqrt(1 - len(asked) / len(rows))
        return Missed(len(rows) * float(np.mean(sums)), len(rows) * float(error))

    def _overlooked(self, row: int) -> NDArray[np.bool_]:
        """Who is neither joined to a changed person nor a candidate for it."""
        result = np.ones(self.world.people.count, dtype=np.bool_)
        one = np.array([row])
        result[row] = False
        result[self._adjacency[one].indices] = False
        result[self._two_steps(one)[1]] = False
        result[self._nearest_of(one)] = False
        # The other may have found the person among its nearest; farther off that is rare.
        around = self._nearest_of(one, 4)[0]
        asks = around[result[around] & self.world.changed[around]]
        result[asks[(self._nearest_of(asks) == row).any(axis=1)]] = False
        return result

    @cached_property
    def _adjacency(self) -> csr_array:
        return self._edges_from(np.ones(self.world.people.count, dtype=np.bool_))

    @cached_property
    def _stepping(self) -> csr_array:
        return self._edges_from(self.world.people.degree <= HUB)

    def _edges_from(self, people: NDArray[np.bool_]) -> csr_array:
        """Edges as a sparse matrix, those that leave the `people` marked only."""
        edges, n = self.world.people.edges, len(people)
        both = np.concatenate([edges, edges[::-1]], axis=1)
        both = both[:, people[both[0]]]
        ones = np.ones(both.shape[1], dtype=np.int32)
        return csr_array((ones, (both[0], both[1])), shape=(n, n))

    @cached_property
    def _points(self) -> Floats:
        terms = self.model.terms
        prepared = terms.prepared(self.world.table)
        return np.ascontiguousarray((prepared * terms.scale[:, None]).T)

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._points)

    def _two_steps(self, rows: Integers) -> tuple[Integers, Integers]:
        reached = (self._adjacency[rows] @ self._stepping).tocoo()
        first, second = rows[reached.row], reached.col.astype(np.int64)
        other = first != second
        return first[other], second[other]

    def _nearest(self, rows: Integers) -> tuple[Integers, Integers]:
        found = self._nearest_of(rows)
        first = np.repeat(rows, found.shape[1])
        second = found.ravel()
        other = first != second
        return first[other], second[other]

    def _nearest_of(self, rows: Integers, times: int = 1) -> Integers:
        # Oneself is usually among them, hence one more.
        count = min(times * NEAREST + 1, self.world.people.count)
        if not self._points.shape[1]:
            return np.tile(np.arange(count), (len(rows), 1))
        _, found = self._tree.query(self._points[rows], k=range(1, count + 1), workers=-1)
        return np.asarray(found, dtype=np.int64).reshape(len(rows), count)

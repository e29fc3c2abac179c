"""Where to look for new edges in graphs that are too large to compare every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.model import EdgeModel, World
from fairgear.hashing import node_hash
from fairgear.progress import bar

# Nearest people of each changed person that are candidates.
NEAREST = 32
# A common neighbour with more neighbours than this does not make a candidate.
HUB = 1000
_CHUNK = 1024
# People whose pairs are all evaluated to estimate what is missed: an error of about 10 %.
_SAMPLED = 200


@dataclass(frozen=True)
class Missed:
    """The number of new edges outside the candidates, estimated from a sample of people."""

    expected: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of a changed person with people two steps away or among the nearest.

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
                    # Keep only pairs that become edges: candidates outnumber them.
                    apart = (i != j) & ~self.world.factual.joined(i, j)
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
        """The expected number of new edges among pairs that are no candidates.

        Every pair of a sample of the changed people, drawn by a hash of their ids, is evaluated;
        the probabilities of new edges outside the candidates are summed and scaled up.
        """
        factual, changed = self.world.factual, self.world.changed
        rows = np.flatnonzero(changed)
        sampled = rows[np.argsort(node_hash(factual.ids[rows], seed, "missed"))[:_SAMPLED]]
        sums = []
        with bar("estimating what is missed", total=len(sampled)) as shown:
            for row in sampled:
                others = np.flatnonzero(self._overlooked(row))
                chance = self.model.probability(self.world, np.full(len(others), row), others)
                # A pair of two changed people is met from both ends.
                sums.append(float(chance @ np.where(changed[others], 0.5, 1.0)))
                shown.advance()
        if len(sums) < 2:
            return Missed(float(sum(sums)), 0.0)
        error = np.std(sums, ddof=1) / np.sqrt(len(sums)) * np.sqrt(1 - len(sampled) / len(rows))
        return Missed(len(rows) * float(np.mean(sums)), len(rows) * float(error))

    def _overlooked(self, row: int) -> NDArray[np.bool_]:
        """Who is neither a neighbour of a changed person nor a candidate."""
        result = np.ones(self.world.factual.n, dtype=np.bool_)
        one = np.array([row])
        result[row] = False
        result[self._adjacency[one].indices] = False
        result[self._two_steps(one)[1]] = False
        result[self._nearest_of(one)] = False
        # The person may be among the other's nearest; farther away that is rare.
        around = self._nearest_of(one, 4)[0]
        others = around[result[around] & self.world.changed[around]]
        result[others[(self._nearest_of(others) == row).any(axis=1)]] = False
        return result

    @cached_property
    def _adjacency(self) -> csr_array:
        return self._edges_from(np.ones(self.world.factual.n, dtype=np.bool_))

    @cached_property
    def _without_hubs(self) -> csr_array:
        return self._edges_from(self.world.factual.degree <= HUB)

    def _edges_from(self, people: NDArray[np.bool_]) -> csr_array:
        """Edges as a sparse matrix, only those that start at `people`."""
        edges, n = self.world.factual.edges, len(people)
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
        reached = (self._adjacency[rows] @ self._without_hubs).tocoo()
        return rows[reached.row], reached.col.astype(np.int64)

    def _nearest(self, rows: Integers) -> tuple[Integers, Integers]:
        found = self._nearest_of(rows)
        return np.repeat(rows, found.shape[1]), found.ravel()

    def _nearest_of(self, rows: Integers, times: int = 1) -> Integers:
        # One more, since people are usually their own nearest.
        count = min(times * NEAREST + 1, self.world.factual.n)
        if not self._points.shape[1]:
            return np.tile(np.arange(count), (len(rows), 1))
        _, found = self._tree.query(self._points[rows], k=range(1, count + 1), workers=-1)
        return np.asarray(found, dtype=np.int64).reshape(len(rows), count)

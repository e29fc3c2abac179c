"""Where to look for new edges in graphs that are too large to compare every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from fairgear.causal.edges.kernel import Floats, Integers, likely_nearby
from fairgear.causal.edges.model import STREAM, EdgeModel, World
from fairgear.causal.edges.near_lists import NearLists
from fairgear.compiled import in_chunks
from fairgear.hashing import node_hash
from fairgear.progress import bar

# Nearest people of each changed person that are candidates.
NEAREST = 32
# A common neighbour with more neighbours than this does not make a candidate.
HUB = 1000
_CHUNK = 4096
# People whose pairs are all evaluated to estimate what is missed: an error of about 10 %. In a
# graph with lists each of them takes longer; fewer make it 20 %.
_SAMPLED, _SAMPLED_IN_LARGE = 200, 50


@dataclass(frozen=True)
class Missed:
    """The number of new edges outside the candidates, estimated from a sample of people."""

    expected: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of a changed person with people two steps away or among the nearest.

    Nearness is that of the edge model: in the new world or, where lists of a large graph are
    given, in the worlds that these were made from.
    """

    model: EdgeModel
    world: World
    lists: NearLists | None = None

    def edges(self, seed: int) -> Integers:
        """The world's edges, new ones only among the candidates."""
        factual, terms = self.world.factual, self.model.terms
        weights, sens = terms.coefficients(self.model.theta), self.world.sens
        rows = np.flatnonzero(self.world.changed)
        own = weights.degree * np.log1p(factual.degree)
        lift, places = terms.lift(self.model.theta, own, sens, sens[rows])
        rest = (weights.slope, lift, places, factual.ids.astype(np.uint64))
        keys = node_hash(factual.ids, seed, STREAM)
        columns, near = self.world.prepared(terms), None
        if self.lists is not None:
            near = self.lists.of(rows, sens[rows])
        elif self._points.shape[1]:
            # Made before threads share it.
            _ = self._tree
        found: dict[int, tuple[Integers, Integers]] = {}

        def work(start: int, stop: int) -> None:
            part = rows[start:stop]
            nearest = self._nearest_of(part) if near is None else near[start:stop]
            found[start] = likely_nearby(
                columns, terms.scale, terms.cosine, *rest, keys, *factual.lists, HUB, part, nearest
            )

        in_chunks(work, len(rows), _CHUNK, "looking for new edges")
        first, second = (
            np.concatenate([found[at][side] for at in sorted(found)]) for side in (0, 1)
        )
        return self.model.edges_among(self.world, first, second, seed)

    def missed(self, seed: int) -> Missed:
        """The expected number of new edges among pairs that are no candidates.

        Every pair of a sample of the changed people, drawn by a hash of their ids, is evaluated;
        the probabilities of new edges outside the candidates are summed and scaled up.
        """
        factual, changed = self.world.factual, self.world.changed
        rows = np.flatnonzero(changed)
        most = _SAMPLED if self.lists is None else _SAMPLED_IN_LARGE
        sampled = rows[np.argsort(node_hash(factual.ids[rows], seed, "missed"))[:most]]
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
        if self.lists is not None:
            result[self._listing(row)] = False
            return result
        # The person may be among the other's nearest; farther away that is rare.
        around = self._nearest_of(one, 4)[0]
        others = around[result[around] & self.world.changed[around]]
        result[others[(self._nearest_of(others) == row).any(axis=1)]] = False
        return result

    def _listing(self, row: int) -> Integers:
        """The changed people whose lists hold this person."""
        rows, listed = self._listed
        found: Integers = rows[(listed == row).any(axis=1)]
        return found

    @cached_property
    def _listed(self) -> tuple[Integers, Integers]:
        rows = np.flatnonzero(self.world.changed)
        return rows, self._nearest_of(rows)

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
        return self.model.terms.points(self.world.prepared(self.model.terms))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._points)

    def _two_steps(self, rows: Integers) -> tuple[Integers, Integers]:
        reached = (self._adjacency[rows] @ self._without_hubs).tocoo()
        return rows[reached.row], reached.col.astype(np.int64)

    def _nearest_of(self, rows: Integers, times: int = 1) -> Integers:
        if self.lists is not None:
            return self.lists.of(rows, self.world.sens[rows])
        # One more, since people are usually their own nearest.
        count = min(times * NEAREST + 1, self.world.factual.n)
        if not self._points.shape[1]:
            return np.tile(np.arange(count), (len(rows), 1))
        _, found = self._tree.query(self._points[rows], k=range(1, count + 1))
        return np.asarray(found, dtype=np.int64).reshape(len(rows), count)

"""The edges that few people gain and lose, from their own pairs alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fairgear.causal.edges import candidates
from fairgear.causal.edges.kernel import Floats, Hashes, Integers, likely_pairs
from fairgear.causal.edges.model import STREAM, EdgeModel
from fairgear.causal.edges.pairs import Factual
from fairgear.hashing import node_hash, pair_uniform

# Scratch is kept for so many different numbers of people: each takes a copy of the table.
_SIZES = 4


@dataclass(frozen=True, eq=False)
class NearbyEdges:
    """What `EdgeModel` does to the edges when few people change; made once for a factual graph.

    Attributes:
        model: the edge model.
        factual: the graph.
        exact: whether every pair is considered for a new edge, or only candidates, as in
            `Candidates`.
    """

    model: EdgeModel
    factual: Factual
    exact: bool
    _hashes: dict[int, Hashes] = field(default_factory=dict)
    _scratch: dict[int, tuple[Floats, NDArray[Any], Hashes, Floats]] = field(default_factory=dict)

    def changes(
        self, people: Integers, table: Floats, sens: NDArray[Any], seed: int
    ) -> tuple[Integers, Integers]:
        """The edges (2, ·) lost and gained, each once.

        Args:
            people: (m,), who changes, ascending.
            table: (m, d), their features.
            sens: (m,), their groups or numbers.
            seed: of the noise.
        """
        lists = [self._neighbors(i) for i in people.tolist()]
        before = np.repeat(people, [len(part) for part in lists]), np.concatenate(lists)
        before = _unique_pairs(*before, self.factual.n)
        find = self._likely if self.exact else self._candidates
        first, second = _unique_pairs(*find(people, table, sens, seed), self.factual.n)
        apart = ~self.factual.joined(first, second)
        first, second = first[apart], second[apart]
        gone = ~self._survives(people, table, sens, *before, seed)
        fresh = self._survives(people, table, sens, first, second, seed)
        return np.stack(before)[:, gone], np.stack([first, second])[:, fresh]

    def _survives(
        self,
        people: Integers,
        table: Floats,
        sens: NDArray[Any],
        first: Integers,
        second: Integers,
        seed: int,
    ) -> NDArray[np.bool_]:
        """As `EdgeModel.survives`, for pairs with some of the changed people."""
        factual, terms = self.factual, self.model.terms
        who, of_each = np.unique(np.concatenate([first, second]), return_inverse=True)
        one, two = of_each[: len(first)], of_each[len(first) :]
        columns, groups = self._prepared[:, who], factual.sens[who]
        joined = factual.joined(first, second)
        rest = (first, second, joined)
        pairs = terms.between(groups[one], groups[two])
        old = self.model.logits_of(factual, terms.likeness(columns, one, two), pairs, *rest)
        changed = np.isin(people, who)
        at = np.searchsorted(who, people[changed])
        columns[:, at], groups[at] = terms.prepared(table)[:, changed], sens[changed]
        pairs = terms.between(groups[one], groups[two])
        new = self.model.logits_of(factual, terms.likeness(columns, one, two), pairs, *rest)
        noise = pair_uniform(factual.ids[first], factual.ids[second], seed, STREAM)
        return np.asarray(noise < self.model.chance(old, new, joined))

    def _likely(
        self, people: Integers, table: Floats, sens: NDArray[Any], seed: int
    ) -> tuple[Integers, Integers]:
        """Every pair that may gain an edge: the people are compared with everyone.

        They stand behind the factual people, where they still are too, and are skipped.
        """
        factual, terms, n = self.factual, self.model.terms, self.factual.n
        theta = self.model.theta
        weights = terms.coefficients(theta)
        own = weights.degree * np.log1p(factual.degree)
        if len(people) not in self._scratch:
            if len(self._scratch) == _SIZES:
                self._scratch.pop(next(iter(self._scratch)))
            behind = np.concatenate([np.arange(n), np.zeros(len(people), dtype=np.int64)])
            known = factual.sens[behind]
            lift = terms.lift(theta, own[behind], known, known)[0]
            self._scratch[len(people)] = (
                np.ascontiguousarray(self._prepared[:, behind]),
                known,
                factual.ids.astype(np.uint64)[behind],
                lift,
            )
        columns, of_sens, ids, lift = self._scratch[len(people)]
        columns[:, n:], of_sens[n:] = terms.prepared(table), sens
        ids[n:] = factual.ids[people].astype(np.uint64)
        if terms.groups:
            # Of groups, only the people who are set have another.
            lift[:, :, n:], places = terms.lift(theta, own[people], sens, sens)[0], of_sens
        else:
            everyone = np.concatenate([own, own[people]])
            lift, places = terms.lift(theta, everyone, of_sens, sens)
        if seed not in self._hashes:
            self._hashes[seed] = node_hash(factual.ids, seed, STREAM)
        keys = np.concatenate([self._hashes[seed], self._hashes[seed][people]])
        slope, scale, cosine = weights.slope, terms.scale, terms.cosine
        first, second = likely_pairs(
            columns, scale, cosine, slope, lift, places, ids, keys, n, 0, len(people)
        )
        known = ~np.isin(second, people)
        everyone = np.concatenate([np.arange(n), people])
        return everyone[first[known]], everyone[second[known]]

    def _candidates(
        self, people: Integers, table: Floats, sens: NDArray[Any], seed: int
    ) -> tuple[Integers, Integers]:
        """Pairs with people two steps away or among the nearest in the new world."""
        terms = self.model.terms
        points = (terms.prepared(table) * terms.scale[:, None]).T
        first, second = [], []
        for place, i in enumerate(people.tolist()):
            around = self._neighbors(i)
            around = around[self.factual.degree[around] <= candidates.HUB]
            found = [self._neighbors(j) for j in around.tolist()]
            found.append(self._nearest(people, points, place))
            others = np.concatenate(found)
            others = others[others != i]
            first.append(np.full(len(others), i))
            second.append(others)
        return np.concatenate(first), np.concatenate(second)

    def _nearest(self, people: Integers, points: Floats, place: int) -> Integers:
        """The nearest others of a changed person; of equally near ones, those of lower ids."""
        count = min(candidates.NEAREST + 1 + len(people), self.factual.n)
        if not points.shape[1]:
            return np.arange(min(candidates.NEAREST + 1, self.factual.n))
        near = self._tree.query(points[place], k=np.arange(1, count + 1))
        far, found = np.asarray(near[0]), np.asarray(near[1], dtype=np.int64)
        # The changed people are not where the tree has them.
        stayed = ~np.isin(found, people)
        others = np.delete(np.arange(len(people)), place)
        apart = np.sqrt(((points[others] - points[place]) ** 2).sum(axis=1))
        far = np.concatenate([far[stayed], apart])
        who = np.concatenate([found[stayed], people[others]])
        return who[np.lexsort((who, far))[: candidates.NEAREST]]

    def _neighbors(self, person: int) -> Integers:
        begin, ends = self.factual.lists
        return ends[begin[person] : begin[person + 1]]

    @cached_property
    def _prepared(self) -> Floats:
        return self.model.terms.prepared(self.factual.table)

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.model.terms.points(self._prepared))


def _unique_pairs(first: Integers, second: Integers, n: int) -> tuple[Integers, Integers]:
    """Each pair once, the lower end first, sorted."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys = np.unique(low * n + high)
    return keys // n, keys % n

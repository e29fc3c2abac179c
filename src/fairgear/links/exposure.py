"""Exposure: how often people of each group stand in the lists of others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from torch import Tensor

from fairgear.graph import SensitiveGraph, groups_of
from fairgear.links.lists import LeftOut
from fairgear.links.result import Exposure
from fairgear.metrics import UNDEFINED, Estimate, Interval, cluster_bootstrap
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import Statistic


def listed_by_group(rows: Tensor, groups: Integers) -> tuple[Floats, Floats]:
    """Places of each list (b, k) by the group who is there (b, groups), and those with weights.

    The weight of a place is 1/log₂(1 + rank).
    """
    b, k = rows.shape
    count = int(groups.max()) + 1
    there = (rows >= 0).numpy()
    weight = 1 / np.log2(2 + np.arange(k))
    place = np.arange(b)[:, None] * count + groups[rows.clamp(min=0).numpy()]

    def total(values: Floats) -> Floats:
        found = np.bincount(place[there], weights=values[there], minlength=b * count)
        return found.astype(np.float64).reshape(b, count)

    return total(np.ones((b, k))), total(np.broadcast_to(weight, (b, k)))


def candidates_by_group(graph: SensitiveGraph, people: Tensor) -> Floats:
    """How many of each group could be in the list of each person, (b, groups)."""
    groups = groups_of(graph).cpu().numpy()
    count = int(groups.max()) + 1
    by_number = groups[graph.canonical.rows.numpy()]
    places, numbers = LeftOut(graph, graph).cells(people)
    out = np.bincount(places * count + by_number[numbers], minlength=len(people) * count)
    everybody = np.bincount(groups, minlength=count).astype(np.float64)
    return everybody - out.reshape(len(people), count)


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Candidates and places (b, groups) of lists, and the communities of their owners."""

    candidates: Floats
    places: Floats
    weighted: Floats
    clusters: Integers
    level: float
    seed: int

    def rows(self, name: str) -> list[Exposure]:
        """One for each group that somebody could be listed of."""
        could, plain, weighted = (
            part.sum(axis=0) / part.sum() if part.sum() else np.full(part.shape[1], math.nan)
            for part in (self.candidates, self.places, self.weighted)
        )
        groups = np.flatnonzero(self.candidates.sum(axis=0) > 0).tolist()
        return [
            Exposure(
                name,
                group,
                float(could[group]),
                float(plain[group]),
                float(weighted[group]),
                float(plain[group] / could[group]),
                self._interval(self.places, (group,)),
                float(weighted[group] / could[group]),
                self._interval(self.weighted, (group,)),
            )
            for group in groups
        ]

    def gap(self) -> Estimate:
        """The largest difference of two groups' relative exposure."""
        groups = np.flatnonzero(self.candidates.sum(axis=0) > 0).tolist()
        pairs = list(combinations(groups, 2))
        if not pairs or not self.places.sum():
            return Estimate(math.nan, UNDEFINED)
        level = 1 - (1 - self.level) / len(pairs)
        one = np.ones((1, len(self.clusters)))
        values = [abs(float(self._relative(self.places, pair)(one)[0])) for pair in pairs]
        ends = [self._interval(self.places, pair, level).absolute() for pair in pairs]
        if not all(end.defined for end in ends):
            return Estimate(max(values), UNDEFINED)
        widest = Interval(max(end.low for end in ends), max(end.high for end in ends))
        return Estimate(max(values), widest)

    def _relative(self, places: Floats, groups: tuple[int, ...]) -> Statistic:
        """Relative exposure of a group, or of the second less that of the first."""

        def value(weights: Floats) -> Floats:
            held, could = weights @ places, weights @ self.candidates
            share = held / held.sum(axis=1, keepdims=True)
            relative = share / (could / could.sum(axis=1, keepdims=True))
            found: Floats = relative[:, groups[-1]]
            return found if len(groups) == 1 else found - relative[:, groups[0]]

        return value

    def _interval(
        self, places: Floats, groups: tuple[int, ...], level: float | None = None
    ) -> Interval:
        if not places.sum():
            return UNDEFINED
        found = cluster_bootstrap(
            self._relative(places, groups),
            self.clusters,
            level=self.level if level is None else level,
            seed=self.seed,
        )
        return found if len(groups) > 1 else found.clipped(0.0, math.inf)

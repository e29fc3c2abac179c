"""The communities of both ends of pairs: how a mean over pairs varies, and resamples of pairs.

Two pairs go together where an end of one is of the community of an end of the other. So the
variance of a mean over pairs is that of dyadic data: with e the deviations from the mean, S_c their
sum over the pairs with an end in community c, and T_cd that over the pairs between c and d,

    V = (Σ_c S_c² − Σ_{c<d} T_cd²) / m²

where T² is taken off once since S counts it in c and in d. The pigeonhole bootstrap (Owen, 2007;
for one set of clusters at both ends McCullagh, 2000) draws communities with replacement and weights
a pair by the product of how often those of its ends were drawn; a pair within a community, by how
often that one was. Its variance is Σ S² + Σ T²: what belongs to a pair of communities alone counts
three times. A second bootstrap, of pairs of communities, measures Σ T²; between once and
twice it is taken off, see `fairgear.links.intervals.TAKEN_OFF`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairgear.metrics.inputs import Floats, Integers, pooled
from fairgear.metrics.intervals import CHUNK, Statistic, multiplicities


@dataclass(frozen=True, eq=False)
class PairClusters:
    """The clusters of the two ends of m pairs, numbered from 0 without gaps.

    Attributes:
        first: (m,), of one end.
        second: (m,), of the other.
    """

    first: Integers
    second: Integers

    @classmethod
    def of(cls, first: Integers, second: Integers) -> PairClusters:
        """From any labels; of very many clusters some together, see `pooled`."""
        labels = np.unique(np.concatenate([first, second]), return_inverse=True)[1]
        joined = pooled(labels.astype(np.int64))
        return cls(joined[: len(first)], joined[len(first) :])

    def __len__(self) -> int:
        return len(self.first)

    def among(self, chosen: NDArray[np.bool_]) -> PairClusters:
        """Those of some pairs."""
        return PairClusters.of(self.first[chosen], self.second[chosen])

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """Whether both ends are in one cluster."""
        same: NDArray[np.bool_] = self.first == self.second
        return same

    @cached_property
    def count(self) -> int:
        """How many clusters there are."""
        return int(max(self.first.max(), self.second.max())) + 1

    @cached_property
    def units(self) -> tuple[Integers, Integers, Integers]:
        """Pairs of clusters: the two of each, the lesser first, and the one of every pair."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        keys, unit = np.unique(low * self.count + high, return_inverse=True)
        return keys // self.count, keys % self.count, unit.astype(np.int64)

    @cached_property
    def touching(self) -> Floats:
        """How many pairs have an end in each cluster."""
        return self.sums(np.ones(len(self)))

    @cached_property
    def effective(self) -> float:
        """Kish's effective number of clusters of the ends."""
        ends = np.bincount(np.concatenate([self.first, self.second])).astype(np.float64)
        return float(ends.sum() ** 2 / (ends @ ends))

    def sums(self, values: Floats) -> Floats:
        """The sum of `values` over the pairs with an end in each cluster."""
        other = np.where(self.within, 0.0, values)
        first = np.bincount(self.first, weights=values, minlength=self.count)
        total: Floats = first.astype(np.float64)
        total += np.bincount(self.second, weights=other, minlength=self.count)
        return total

    def variance(self, values: Floats) -> float:
        """Of the mean of `values`; see the top of this file.

        S_c is corrected for its part in the mean, as where each cluster is left out in turn, and V
        is at least the variance between pairs of clusters that were independent.
        """
        apart, m = values - values.mean(), len(values)
        rest = np.maximum(1 - self.touching / m, 1 / m)
        shared = self.sums(apart) / rest
        first, second, unit = self.units
        each = np.bincount(unit, weights=apart)
        across = float(each[first != second] @ each[first != second])
        total = (self.count - 1) / self.count * float(shared @ shared) - across
        return max(total, float(each @ each)) / m**2

    def resampled(self, statistic: Statistic, *, draws: int, seed: int) -> tuple[Floats, Floats]:
        """A statistic of weights (resamples, m), by the product weights and by those of units."""
        parts = (self._products(draws, seed), self._by_unit(draws, seed))
        found = [np.concatenate([statistic(weights) for weights in part]) for part in parts]
        return found[0], found[1]

    def resampled_sums(self, columns: Floats, *, draws: int, seed: int) -> tuple[Floats, Floats]:
        """The weighted sums of columns (m, c) in each resample, (resamples, c), by both rules."""
        first, second, unit = self.units
        sums = np.stack([np.bincount(unit, weights=one) for one in columns.T], axis=1)
        by_unit = PairClusters(first, second)
        return by_unit.resampled(lambda weights: weights @ sums, draws=draws, seed=seed)

    def _products(self, draws: int, seed: int) -> Iterator[Floats]:
        """Weights (some resamples, m) of the pigeonhole bootstrap."""
        each = multiplicities(np.arange(self.count), draws=draws, seed=seed)
        for part in _chunks(each, len(self)):
            weights = part[:, self.first]
            weights[:, ~self.within] *= part[:, self.second[~self.within]]
            yield weights

    def _by_unit(self, draws: int, seed: int) -> Iterator[Floats]:
        """Weights of pairs of clusters; pairs within a cluster keep a weight of 1."""
        first, second, unit = self.units
        between = np.flatnonzero(first != second)
        if not len(between):
            yield np.ones((draws, len(self)))
            return
        # Sums over random groups of independent units vary as those of the units do.
        number = np.full(len(first), -1)
        number[between] = pooled(np.arange(len(between)))
        rng = np.random.default_rng([seed, 1])
        count = int(number.max()) + 1
        place = number[unit]
        rows = max(1, CHUNK // max(len(self), count))
        for start in range(0, draws, rows):
            size = min(rows, draws - start)
            drawn = rng.multinomial(count, np.full(count, 1 / count), size=size)
            yield np.where(place < 0, 1.0, drawn[:, place])


def _chunks(weights: Floats, pairs: int) -> Iterator[Floats]:
    rows = max(1, CHUNK // max(pairs, 1))
    for start in range(0, len(weights), rows):
        yield weights[start : start + rows]

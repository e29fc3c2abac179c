"""Intervals of measures of pairs, by the communities of both ends; see `fairgear.links.clusters`.

Rates (flips, predicted links, accuracy) have exact binomial bounds with the number of pairs divided
by the design effect, as in `fairgear.metrics.rates`: V ÷ the variance of independent pairs, by
communities and by regions if these are given, the larger of the two. The design effect of an
assumed correlation is averaged in where few communities have flips, and is all where none has.
Everything else has the standard error of the two-way bootstrap and a quantile of t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, expit, logit, ndtri

from fairgear.links.clusters import PairClusters
from fairgear.metrics import UNDEFINED, Estimate, Interval
from fairgear.metrics.estimates import at_the_edge
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import MAX_UNDEFINED, Statistic, student_quantile
from fairgear.metrics.numbers import explained_share
from fairgear.metrics.rates import (
    CORRELATION,
    MIN_COMMUNITIES,
    PRIOR_COMMUNITIES,
    combined_interval,
    exact_interval,
)

DRAWS = 1000
# Pairs above which fewer resamples are drawn: their standard error is then 4 %, not 2 %.
MANY, FEWER = 50_000, 300
# Of the variance between pairs of communities, which the product weights count three times. In
# simulations intervals covered 0.91 on average with 2, which is right for many communities, and
# 0.97 with 1.
TAKEN_OFF = 1.5
_EDGE = 1 - 1e-12
# Values on resamples by the product weights, and on those of pairs of communities.
Drawn = tuple[Floats, Floats]


def rate_of_pairs(
    values: Floats, clusters: Sequence[PairClusters], *, level: float = 0.95
) -> Interval:
    """Interval of the mean of `values`, 0 to 1; undefined without pairs.

    Args:
        values: of each pair, 0 or 1, or a share of draws.
        clusters: the communities of both ends and, where these may go together, their regions.
        level: probability that the interval covers.

    Example:
        >>> import numpy as np
        >>> from fairgear.links.clusters import PairClusters
        >>> from fairgear.links.intervals import rate_of_pairs
        >>> ends = np.arange(200).reshape(2, 100) % 40
        >>> nobody = rate_of_pairs(np.zeros(100), [PairClusters.of(*ends)])
        >>> nobody.low, round(nobody.high, 3)
        (0.0, 0.05)
    """
    if not len(values):
        return UNDEFINED
    return exact_interval(float(values.mean()), _size(values, clusters, level), level=level)


def _size(values: Floats, clusters: Sequence[PairClusters], level: float) -> float:
    """How many independent pairs would say as much about the mean."""
    effect, known = _assumed(clusters[0]), informative(values, clusters[0])
    several = [one for one in clusters if one.count > 1]
    if known and several:
        estimated = max(_effect(values, one, level) for one in several)
        effect = (known * estimated + PRIOR_COMMUNITIES * effect) / (known + PRIOR_COMMUNITIES)
    return max(len(values) / effect, 1.0)


def _effect(values: Floats, clusters: PairClusters, level: float) -> float:
    """The design effect, at least 1, larger where few clusters make it uncertain."""
    mean = float(values.mean())
    independent = (float(np.abs(values).mean()) - mean * mean) / len(values)
    quantile = student_quantile(clusters.effective, level) / ndtri((1 + level) / 2)
    return max(1.0, clusters.variance(values) / independent) * float(quantile) ** 2


def _assumed(clusters: PairClusters) -> float:
    """The design effect of pairs that correlate in full where both communities are the same.

    `CORRELATION` is that; half of it where one community is. A pair is one of those with it.
    """
    unit = np.bincount(clusters.units[2]).astype(np.float64)
    touching = clusters.touching
    m, both = len(clusters), float(unit @ unit)
    first, second, _ = clusters.units
    across = unit[first != second]
    one = float(touching @ touching) - float(across @ across) - both
    return 1 + CORRELATION * ((both - m) + one / 2) / m


def informative(values: Floats, clusters: PairClusters) -> int:
    """The number of communities with an end of a hit, or of a miss, whichever is smaller."""
    return int(min((clusters.sums(part) > 0).sum() for part in (values, 1 - values)))


class PairBootstrap:
    """Intervals of the measures of some pairs from the same resamples.

    Args:
        clusters: the communities of both ends.
        regions: larger clusters for rates, if any.
        level: probability that an interval covers.
        seed: of the resamples.
    """

    def __init__(
        self,
        clusters: PairClusters,
        regions: PairClusters | None = None,
        *,
        level: float = 0.95,
        seed: int = 0,
    ) -> None:
        self.clusters, self.level, self._seed = clusters, level, seed
        self._levels = [clusters] if regions is None else [clusters, regions]
        self._draws = DRAWS if len(clusters) <= MANY else FEWER

    def rate(
        self,
        values: Floats,
        chosen: NDArray[np.bool_] | None = None,
        *,
        by_region: bool = False,
    ) -> Estimate:
        """A mean of 0 to 1, of all pairs or of the chosen ones; NaN without any.

        With `by_region`, as of flips, also where communities that are linked go together.
        """
        levels = self._levels if by_region else self._levels[:1]
        if chosen is not None:
            values = values[chosen]
            levels = [one.among(chosen) for one in levels] if len(values) else []
        if not len(values):
            return Estimate(math.nan, UNDEFINED)
        return Estimate(float(values.mean()), rate_of_pairs(values, levels, level=self.level))

    def drawn(self, statistic: Statistic) -> Drawn:
        """A statistic of the weights of pairs on both kinds of resamples."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.clusters.resampled(statistic, draws=self._draws, seed=self._seed)

    def drawn_sums(self, columns: Floats) -> Drawn:
        """Weighted sums of columns (m, c) on both kinds of resamples."""
        return self.clusters.resampled_sums(columns, draws=self._draws, seed=self._seed)

    def margin(
        self, drawn: Drawn, *, effective: float | None = None, level: float | None = None
    ) -> float:
        """Half the width of an interval from values on resamples; NaN where there are too few."""
        if self.clusters.count < 2:
            return math.nan
        known = [one[np.isfinite(one)] for one in drawn]
        if any(len(one) < (1 - MAX_UNDEFINED) * self._draws for one in known):
            return math.nan
        product, units = (float(one.var(ddof=1)) for one in known)
        variance = max(product - TAKEN_OFF * units, product / 3)
        size = self.clusters.effective if effective is None else effective
        reach = student_quantile(size, self.level if level is None else level)
        return reach * size / max(size - 1, 1.0) * math.sqrt(variance)

    def share(self, value: float, drawn: Drawn, positives: int, negatives: int) -> Interval:
        """Of a measure of ranks from 0 to 1, symmetric in the logit; exact close to 0 and 1."""
        if math.isnan(value):
            return UNDEFINED
        smaller = min(positives, negatives)
        labels = np.repeat([1, 0], [smaller, smaller]).astype(np.int64)
        size = min(self.clusters.effective, smaller)
        if at_the_edge(labels, value):
            return exact_interval(value, size, level=self.level)
        margin = self.margin(drawn) / (value * (1 - value))
        if math.isnan(margin):
            return UNDEFINED
        middle = float(logit(value))
        return Interval(float(expit(middle - margin)), float(expit(middle + margin)))

    def gap(self, hits: Floats, side: Integers) -> Estimate:
        """Of the mean of side 1 less that of side 0, its size; pairs of side −1 take no part."""
        return self.largest_gap(hits, side)

    def largest_gap(self, hits: Floats, cell: Integers) -> Estimate:
        """The largest difference of two cells' means, with ends that hold for all at once.

        Where few communities have hits or misses in a cell, from the intervals of both. Pairs of
        cell −1 take no part.
        """
        parts = [cell == one for one in np.unique(cell[cell >= 0])]
        if len(parts) < 2:
            return Estimate(math.nan, UNDEFINED)
        columns = np.stack([part * of for part in parts for of in (1.0, hits)], axis=1)
        sums = self.drawn_sums(columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = [one[:, 1::2] / one[:, ::2] for one in sums]
        several = list(combinations(range(len(parts)), 2))
        level = 1 - (1 - self.level) / len(several)
        each = [
            self._apart(hits, (parts[a], parts[b]), [one[:, b] - one[:, a] for one in drawn], level)
            for a, b in several
        ]
        largest = max(each, key=lambda one: one.value)
        ends = [one.interval for one in each]
        if not all(one.defined for one in ends):
            return Estimate(largest.value, UNDEFINED)
        interval = Interval(max(e.low for e in ends), max(e.high for e in ends))
        return Estimate(largest.value, interval, largest.signed, largest.signed_interval)

    def _apart(
        self,
        hits: Floats,
        masks: tuple[NDArray[np.bool_], NDArray[np.bool_]],
        drawn: Sequence[Floats],
        level: float,
    ) -> Estimate:
        """The second part's mean less the first's."""
        means = [float(hits[mask].mean()) for mask in masks]
        signed = means[1] - means[0]
        clusters = [self.clusters.among(mask) for mask in masks]
        margin = math.nan
        few = min(informative(hits[mask], of) for mask, of in zip(masks, clusters, strict=True))
        if few >= MIN_COMMUNITIES:
            effective = min(one.effective for one in clusters)
            margin = self.margin((drawn[0], drawn[1]), effective=effective, level=level)
        if not math.isnan(margin):
            interval = Interval(signed - margin, signed + margin).clipped(-1.0, 1.0)
            return Estimate(abs(signed), interval.absolute(), signed, interval)
        ends = [
            rate_of_pairs(hits[mask], [one], level=level)
            for mask, one in zip(masks, clusters, strict=True)
        ]
        interval = combined_interval(means[1], ends[1], means[0], ends[0])
        return Estimate(abs(signed), interval.absolute(), signed, interval)

    def dependence(self, answers: Floats, summary: Floats) -> Estimate:
        """R² of answers on columns; its interval is that of the correlation with the best fit.

        It is wider by the ratio of quantiles of χ with as many degrees of freedom as columns.
        """
        value = explained_share(answers, summary)
        if math.isnan(value):
            return Estimate(value, UNDEFINED)
        y, x = answers - answers.mean(), summary - summary.mean(axis=0)
        fit = x @ np.linalg.lstsq(x, y, rcond=None)[0]
        columns = np.stack([np.ones(len(y)), y * fit, fit * fit, y * y, fit, y], axis=1)

        def along(sums: Floats) -> Floats:
            total, both, fits, whole, fit_sum, y_sum = sums.T
            both = both - fit_sum * y_sum / total
            spread = (fits - fit_sum**2 / total) * (whole - y_sum**2 / total)
            found = both / np.sqrt(np.where(spread > 0, spread, np.nan))
            transformed: Floats = np.arctanh(np.clip(found, -_EDGE, _EDGE))
            return transformed

        product, units = self.drawn_sums(columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            margin = self.margin((along(product), along(units)))
        middle = math.atanh(min(math.sqrt(value), _EDGE))
        tail = 1 - self.level
        margin *= math.sqrt(chdtri(max(1, x.shape[1]), tail) / chdtri(1, tail))
        if math.isnan(margin):
            return Estimate(value, UNDEFINED)
        ends = Interval(math.tanh(middle - margin), math.tanh(middle + margin)).absolute()
        return Estimate(value, Interval(ends.low**2, ends.high**2))

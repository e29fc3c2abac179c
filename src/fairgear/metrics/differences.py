"""Intervals of the differences between two models' measures on the same people.

Both models are resampled together, on the same communities, so what moves both alike does not
count. If only a few communities show a difference, resamples say little, and the interval is
combined from those of the two models. In simulations with 15 to 200 communities these intervals at
95 % covered 0.93 to 1.00. Rates have a rule of their own, `paired_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairgear.metrics.estimates import Estimate, at_the_edge
from fairgear.metrics.inputs import (
    Floats,
    Integers,
    Values,
    as_clusters,
    as_shares,
    clustered_shares,
    pooled,
    same_length,
)
from fairgear.metrics.intervals import (
    UNDEFINED,
    Interval,
    bootstrap_interval,
    effective_clusters,
    multiplicities,
    resampled_auroc,
    resampled_correlation,
    resampled_f1,
    resampled_gap,
)
from fairgear.metrics.rates import (
    MIN_COMMUNITIES,
    as_regions,
    combined_interval,
    difference_interval,
    effective_size,
    exact_interval,
    informative_clusters,
)

Mask = NDArray[np.bool_]


def paired_interval(
    first: Values,
    second: Values,
    clusters: Values,
    *,
    level: float = 0.95,
    regions: Values | None = None,
) -> Interval:
    """Interval of mean(first) − mean(second), two shares of the same people.

    The rule of `rates.py` on people's differences. The rates of those who differ one way and of
    those who differ the other have exact bounds, which are combined: p⁺ − p⁻, whose correlation is
    −√(p⁺p⁻ / (1−p⁺)(1−p⁻)). So there is an interval if nobody differs, and differences in one
    direction only do not prove that there are none in the other. The design effect is that of the
    differences or of one direction by itself, whichever is larger: one model may fail whole
    communities at a time while the other's failures are spread. In simulations with 12 to 200
    communities, rates from 0 to 0.9, on one side or both, and correlations within communities from
    0 to 0.3, intervals at 95 % covered at least 0.95.

    Args:
        first: 0 or 1 for each person (right or wrong), or the share of the draws in which they
            flip.
        second: the same for the other model.
        clusters: the community of each person.
        level: probability that the interval covers, at least.
        regions: larger groups of each person, as in `rate_interval`.

    Example:
        >>> from fairgear.metrics import paired_interval
        >>> first = [1] * 90 + [0] * 10
        >>> second = [1] * 70 + [0] * 30
        >>> interval = paired_interval(first, second, [person // 5 for person in range(100)])
        >>> round(interval.low, 2), round(interval.high, 2)
        (-0.01, 0.43)
    """
    one, label = clustered_shares("first", first, clusters, level)
    other = as_shares("second", second)
    same_length(first=one, second=other)
    change = one - other
    size = partial(effective_size, clusters=label, regions=as_regions(regions, label), level=level)
    whole = size(change)
    parts = [np.maximum(change, 0), np.maximum(-change, 0)]
    up, down = (float(part.mean()) for part in parts)
    ends = [
        exact_interval(float(part.mean()), min(whole, size(part)), level=level) for part in parts
    ]
    apart = math.sqrt(up * down / ((1 - up) * (1 - down))) if up * down > 0 else 0.0
    return combined_interval(up, ends[0], down, ends[1], correlation=-apart)


@dataclass(frozen=True, eq=False, repr=False)
class PairedPredictions:
    """What two models predict for the same people.

    Example:
        >>> import numpy as np
        >>> from fairgear.metrics import PairedPredictions, accuracy
        >>> y = np.array([0, 1, 1, 0])
        >>> pair = PairedPredictions(
        ...     y=y,
        ...     sens=np.array([0, 0, 1, 1]),
        ...     summary=np.array([0.5, 0.0, 1.0, 0.5]),
        ...     clusters=np.array([0, 0, 1, 1]),
        ...     scores=(np.array([0.1, 0.8, 0.9, 0.2]), np.array([0.4, 0.3, 0.7, 0.6])),
        ...     labels=(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])),
        ... )
        >>> [accuracy(pair.y, labels) for labels in pair.labels]
        [1.0, 0.5]
    """

    y: Integers
    """−1 if unknown."""
    sens: Integers
    """Groups from 0, or ranges of a number."""
    summary: Floats
    """The mean sensitive value of the closed neighbourhood, (n,) or (n, m)."""
    clusters: Integers
    scores: tuple[Floats, Floats]
    labels: tuple[Integers, Integers]
    several: bool = False
    """Whether there are more than two groups, or ranges: gaps are the largest of all pairs."""


def difference_intervals(
    pair: PairedPredictions,
    first: Mapping[str, Estimate],
    second: Mapping[str, Estimate],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Intervals of first − second of accuracy, F1, AUROC, ΔEO, ΔDP and R², NaN if undefined.

    `first` and `second` are the models' estimates, with intervals of the same level; `draws` and
    `seed` are those of the resamples.

    Example:
        >>> import numpy as np
        >>> from fairgear.metrics import PairedPredictions, evaluate_predictions
        >>> from fairgear.metrics import difference_intervals
        >>> rng = np.random.default_rng(0)
        >>> y, sens = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
        >>> clusters = np.arange(200) // 5
        >>> summary = rng.random(200)
        >>> models = [np.clip(y * 0.4 + rng.random(200) * size, 0, 1) for size in (0.6, 0.9)]
        >>> labels = [(scores > 0.5).astype(np.int64) for scores in models]
        >>> estimates = [
        ...     evaluate_predictions(
        ...         y, scores, chosen, sensitive_features=sens, summary=summary, clusters=clusters
        ...     )
        ...     for scores, chosen in zip(models, labels)
        ... ]
        >>> pair = PairedPredictions(y, sens, summary, clusters, tuple(models), tuple(labels))
        >>> interval = difference_intervals(pair, *estimates)["accuracy"]
        >>> interval.low > 0
        True
    """
    known, intervals = pair.y >= 0, {"accuracy": UNDEFINED}
    if known.any():
        right, other = ((labels == pair.y)[known] for labels in pair.labels)
        intervals["accuracy"] = paired_interval(right, other, pair.clusters[known], level=level)
    comparison = _Comparison(pair, draws, level, seed)
    measures: dict[str, Callable[[Estimate, Estimate], Interval]] = {
        "f1": comparison.f1,
        "auroc": comparison.auroc,
        "delta_eo": partial(comparison.gap, pair.y == 1),
        "delta_dp": partial(comparison.gap, np.ones(len(pair.y), dtype=np.bool_)),
        "r2": comparison.r2,
    }
    if pair.several:
        measures |= {
            "delta_eo": lambda *both: comparison.largest_gap(pair.y == 1),
            "delta_dp": lambda *both: comparison.largest_gap(np.ones(len(pair.y), dtype=np.bool_)),
        }
    for key, compare in measures.items():
        both = first[key], second[key]
        undefined = any(math.isnan(one.value) for one in both)
        intervals[key] = UNDEFINED if undefined else compare(*both).clipped(-1.0, 1.0)
    return intervals


@dataclass(frozen=True)
class _Part:
    """The communities, numbered from 0, of the people among whom a measure is compared."""

    clusters: Integers
    effective: float
    """How many of them count."""
    few: bool
    """Whether too few of them show a difference to be resampled."""


@dataclass(frozen=True)
class _Comparison:
    """Two models, and how to resample the communities of their people."""

    pair: PairedPredictions
    draws: int
    level: float
    seed: int

    def f1(self, one: Estimate, other: Estimate) -> Interval:
        known, (first, second) = self.pair.y >= 0, self.pair.labels
        y, labels = self.pair.y[known], [first[known], second[known]]
        either = (self.pair.y == 1) | (first == 1) | (second == 1)
        part = self._part(known, [either], self._relabelled())
        return self._difference(
            part, one, other, lambda k, w: resampled_f1(y, labels[k], part.clusters, w)
        )

    def auroc(self, one: Estimate, other: Estimate) -> Interval:
        known, (first, second) = self.pair.y >= 0, self.pair.scores
        y, scores = self.pair.y[known], [first[known], second[known]]
        part = self._part(known, [self.pair.y == 0, self.pair.y == 1], np.sign(first - second))
        if at_the_edge(y, one.value) or at_the_edge(y, other.value):
            part = replace(part, few=True)
        return self._difference(
            part, one, other, lambda k, w: resampled_auroc(y, scores[k], part.clusters, w)
        )

    def r2(self, one: Estimate, other: Estimate) -> Interval:
        everyone = np.ones(len(self.pair.y), dtype=np.bool_)
        part = self._part(everyone, [everyone], self._relabelled())
        # Of several regressors the best fit is each model's own: they are not resampled together.
        part = replace(part, few=part.few or self.pair.summary.ndim == 2)

        def drawn(k: int, weights: Floats) -> Floats:
            pred, summary = self.pair.labels[k], self.pair.summary
            return resampled_correlation(pred, summary, part.clusters, weights) ** 2

        return self._difference(part, one, other, drawn)

    def largest_gap(self, among: Mask) -> Interval:
        """max |g₁| − max |g₂| over all pairs of groups, from intervals that hold for all at once.

        Where the first model's gap is largest, the second's is no larger than its own largest: the
        difference is at most that of the two gaps there. Any pair whose gap may be the largest may
        be that place. The least difference is that where the second's gap may be the largest. The
        ends of the two largest gaps by themselves bound it as well.
        """
        pairs = list(combinations(np.unique(self.pair.sens[among]).tolist(), 2))
        # Each pair has three intervals: of the two gaps, and of their difference.
        each = replace(self, level=1 - (1 - self.level) / (3 * len(pairs)))
        found = []
        for groups in pairs:
            one, other = (each._signed(k, among, groups) for k in (0, 1))
            found.append((one.interval, other.interval, each.gap(among, one, other, groups)))
        if not all(ends.defined for of_pair in found for ends in of_pair):
            return UNDEFINED
        least, most = (
            [max(getattr(of_pair[k], end) for of_pair in found) for k in (0, 1)]
            for end in ("low", "high")
        )
        low = min(apart.low for _, other, apart in found if other.high >= least[1])
        high = max(apart.high for one, _, apart in found if one.high >= least[0])
        return Interval(max(low, least[0] - most[1]), min(high, most[0] - least[1]))

    def _signed(self, k: int, among: Mask, groups: tuple[int, int]) -> Estimate:
        """The gap of a model between two groups."""
        chosen = among & np.isin(self.pair.sens, groups)
        hits = self.pair.labels[k][chosen].astype(np.float64)
        second = self.pair.sens[chosen] == groups[1]
        signed = float(hits[second].mean() - hits[~second].mean())
        interval = difference_interval(
            hits,
            self.pair.clusters[chosen],
            sensitive_features=second.astype(np.int64),
            draws=self.draws,
            level=self.level,
            seed=self.seed,
        )
        return Estimate(abs(signed), interval.absolute(), signed, interval)

    def gap(
        self, among: Mask, one: Estimate, other: Estimate, groups: tuple[int, int] = (0, 1)
    ) -> Interval:
        """|g₁| − |g₂| between two groups.

        From the intervals of g₁ − g₂ and g₁ + g₂, which have no fold at 0: it is
        (|d + t| − |d − t|) / 2 of the difference d and the total t, and monotone in each of them,
        so its extremes lie at the ends of the two intervals.
        """
        among = among & np.isin(self.pair.sens, groups)
        hits = [labels[among].astype(np.float64) for labels in self.pair.labels]
        sens = (self.pair.sens[among] == groups[1]).astype(np.int64)
        sides = [self.pair.sens == group for group in groups]
        part = self._part(among, sides, self._relabelled())

        def value(weights: Floats, sign: int) -> Floats:
            drawn = [resampled_gap(own, sens, part.clusters, weights) for own in hits]
            return drawn[0] + sign * drawn[1]

        g1, g2 = one.signed, other.signed
        g1_ends, g2_ends = one.signed_interval, other.signed_interval
        if part.few:
            minus = Interval(-g2_ends.high, -g2_ends.low)
            difference = combined_interval(g1, g1_ends, g2, g2_ends)
            # The gaps of models that seldom differ err together: their total errs twice.
            total = combined_interval(g1, g1_ends, -g2, minus, correlation=-1.0)
        else:
            difference = self._interval(part, g1 - g2, lambda weights: value(weights, -1))
            total = self._interval(part, g1 + g2, lambda weights: value(weights, 1))
        corners = [(abs(d + t) - abs(d - t)) / 2 for d in difference for t in total]
        return Interval(min(corners), max(corners))

    def _part(self, among: Mask, sides: Sequence[Mask], change: Floats) -> _Part:
        """The people that a measure is taken of; `change` is how the models differ for each.

        Of the groups or classes that it compares, the one that says least counts.
        """
        every, chosen = self.pair.clusters, [among & side for side in sides]
        known = min(informative_clusters(change[side], every[side]) for side in chosen)
        # A community in which the models agree says little about how they differ elsewhere.
        effective = min(known, *(effective_clusters(every[side]) for side in chosen))
        clusters = pooled(as_clusters("clusters", every[among], int(among.sum())))
        return _Part(clusters, effective, known < MIN_COMMUNITIES)

    def _difference(
        self, part: _Part, one: Estimate, other: Estimate, drawn: Callable[[int, Floats], Floats]
    ) -> Interval:
        """Of one − other; `drawn` gives the measure of model 0 or 1 on resamples."""
        if part.few:
            return combined_interval(one.value, one.interval, other.value, other.interval)
        return self._interval(part, one.value - other.value, lambda w: drawn(0, w) - drawn(1, w))

    def _interval(
        self, part: _Part, estimate: float, value: Callable[[Floats], Floats]
    ) -> Interval:
        """Of a statistic of the communities' weights, which is `estimate` on the whole."""
        weights = multiplicities(part.clusters, draws=self.draws, seed=self.seed)
        return bootstrap_interval(estimate, value(weights), part.effective, level=self.level)

    def _relabelled(self) -> Floats:
        return (self.pair.labels[0] - self.pair.labels[1]).astype(np.float64)

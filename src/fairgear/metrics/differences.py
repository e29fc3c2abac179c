"""Intervals of the differences between two models' measures on the same people.

Both models are resampled together, on the same communities, so that what moves both alike does
not count. Where only a handful of communities hold a difference, resamples say little, and the
interval is put together from those of the two models. In simulations with 15 to 200 communities
these intervals at 95 % held the truth in 0.93 to 1.00 of the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgear.metrics.estimates import Estimate, at_the_edge
from fairgear.metrics.inputs import Floats, Integers, as_clusters
from fairgear.metrics.intervals import (
    UNDEFINED,
    Interval,
    bootstrap_interval,
    effective_clusters,
    multiplicities,
)
from fairgear.metrics.paired import paired_interval
from fairgear.metrics.rates import HANDFUL, combined_interval, telling_clusters
from fairgear.metrics.resampled import (
    resampled_auroc,
    resampled_correlation,
    resampled_f1,
    resampled_gap,
)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PairedPredictions:
    """What two models predict for the same people.

    Attributes:
        y: labels, −1 where unknown.
        sens: the sensitive attribute.
        summary: mean sensitive value of the closed neighbourhood.
        clusters: the community of each person.
        scores: of the first and of the second model.
        labels: those that they predict.
    """

    y: Integers
    sens: Integers
    summary: Floats
    clusters: Integers
    scores: tuple[Floats, Floats]
    labels: tuple[Integers, Integers]


@dataclass(frozen=True)
class _Resampling:
    """How often to resample, for which level, from which seed."""

    draws: int
    level: float
    seed: int


class _Part:
    """Those among whom a measure is compared, and how much their communities tell about it.

    Args:
        pair: the predictions.
        among: whom the measure is taken of.
        sides: the groups or classes that it compares; the one that tells least counts.
        change: what differs between the models, of each person.
        how: of the resamples.
    """

    def __init__(
        self,
        pair: PairedPredictions,
        among: Mask,
        sides: Sequence[Mask],
        change: Floats,
        how: _Resampling,
    ) -> None:
        chosen = [among & side for side in sides]
        telling = min(telling_clusters(change[side], pair.clusters[side]) for side in chosen)
        # A community in which the models agree says little about how they differ elsewhere.
        self._counting = min(telling, *(effective_clusters(pair.clusters[s]) for s in chosen))
        self._how = how
        self.few = telling < HANDFUL
        self.clusters = as_clusters("clusters", pair.clusters[among], int(among.sum()))

    def interval(self, estimate: float, value: Callable[[Floats], Floats]) -> Interval:
        """Of what `value` gives for weights of the communities, `estimate` on the whole."""
        weights = multiplicities(self.clusters, draws=self._how.draws, seed=self._how.seed)
        drawn = value(weights)
        return bootstrap_interval(estimate, drawn, self._counting, level=self._how.level)


def difference_intervals(
    pair: PairedPredictions,
    first: Mapping[str, Estimate],
    second: Mapping[str, Estimate],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Intervals of first − second of accuracy, F1, AUROC, ΔEO, ΔDP and R², NaN where undefined.

    Args:
        pair: the predictions.
        first: the first model's estimates, with intervals of the same level.
        second: the second's.
        draws: resamples of communities.
        level: of the intervals.
        seed: of the resamples.
    """
    how = _Resampling(draws, level, seed)
    known, everyone = pair.y >= 0, np.ones(len(pair.y), dtype=np.bool_)
    compared: dict[str, Callable[[Estimate, Estimate], Interval]] = {
        "f1": lambda one, other: _f1(pair, known, one, other, how),
        "auroc": lambda one, other: _auroc(pair, known, one, other, how),
        "delta_eo": lambda one, other: _gap(pair, pair.y == 1, one, other, how),
        "delta_dp": lambda one, other: _gap(pair, everyone, one, other, how),
        "r2": lambda one, other: _r2(pair, everyone, one, other, how),
    }
    intervals = {"accuracy": _accuracy(pair, known, level)}
    for key, compare in compared.items():
        one, other = first[key], second[key]
        defined = not (math.isnan(one.value) or math.isnan(other.value))
        intervals[key] = compare(one, other).clipped(-1.0, 1.0) if defined else UNDEFINED
    return intervals


def _accuracy(pair: PairedPredictions, known: Mask, level: float) -> Interval:
    if not known.any():
        return UNDEFINED
    right = [(labels == pair.y)[known] for labels in pair.labels]
    return paired_interval(right[0], right[1], pair.clusters[known], level=level)


def _f1(
    pair: PairedPredictions, known: Mask, one: Estimate, other: Estimate, how: _Resampling
) -> Interval:
    y, labels = pair.y[known], [labels[known] for labels in pair.labels]
    either = (pair.y == 1) | (pair.labels[0] == 1) | (pair.labels[1] == 1)
    part = _Part(pair, known, [either], _relabelled(pair), how)
    if part.few:
        return combined_interval(one.value, one.interval, other.value, other.interval)

    def value(weights: Floats) -> Floats:
        drawn = [resampled_f1(y, pred, part.clusters, weights) for pred in labels]
        return drawn[0] - drawn[1]

    return part.interval(one.value - other.value, value)


def _auroc(
    pair: PairedPredictions, known: Mask, one: Estimate, other: Estimate, how: _Resampling
) -> Interval:
    y, scores = pair.y[known], [scores[known] for scores in pair.scores]
    classes = (pair.y == 0, pair.y == 1)
    part = _Part(pair, known, classes, np.sign(pair.scores[0] - pair.scores[1]), how)
    if part.few or at_the_edge(y, one.value) or at_the_edge(y, other.value):
        return combined_interval(one.value, one.interval, other.value, other.interval)

    def value(weights: Floats) -> Floats:
        drawn = [resampled_auroc(y, ranked, part.clusters, weights) for ranked in scores]
        return drawn[0] - drawn[1]

    return part.interval(one.value - other.value, value)


def _r2(
    pair: PairedPredictions, everyone: Mask, one: Estimate, other: Estimate, how: _Resampling
) -> Interval:
    part = _Part(pair, everyone, [everyone], _relabelled(pair), how)
    if part.few:
        return combined_interval(one.value, one.interval, other.value, other.interval)

    def value(weights: Floats) -> Floats:
        drawn = [
            resampled_correlation(pred, pair.summary, part.clusters, weights) ** 2
            for pred in pair.labels
        ]
        return drawn[0] - drawn[1]

    return part.interval(one.value - other.value, value)


def _gap(
    pair: PairedPredictions, among: Mask, one: Estimate, other: Estimate, how: _Resampling
) -> Interval:
    """|g₁| − |g₂| from the intervals of g₁ − g₂ and g₁ + g₂, which have no fold at 0.

    It is (|d + t| − |d − t|) / 2 of the difference d and the total t, which rises or falls in each
    of them by itself, so that its extremes lie at the ends of the two intervals.
    """
    hits = [labels[among].astype(np.float64) for labels in pair.labels]
    sens = pair.sens[among]
    part = _Part(pair, among, (pair.sens == 0, pair.sens == 1), _relabelled(pair), how)

    def value(weights: Floats, sign: int) -> Floats:
        drawn = [resampled_gap(own, sens, part.clusters, weights) for own in hits]
        return drawn[0] + sign * drawn[1]

    if part.few:
        minus = Interval(-other.signed_interval.high, -other.signed_interval.low)
        ends = (
            combined_interval(one.signed, one.signed_interval, other.signed, other.signed_interval),
            # Models that seldom differ have gaps that err together: their total errs twice.
            combined_interval(
                one.signed, one.signed_interval, -other.signed, minus, correlation=-1.0
            ),
        )
    else:
        ends = (
            part.interval(one.signed - other.signed, lambda weights: value(weights, -1)),
            part.interval(one.signed + other.signed, lambda weights: value(weights, 1)),
        )
    corners = [(abs(d + t) - abs(d - t)) / 2 for d in ends[0] for t in ends[1]]
    return Interval(min(corners), max(corners))


def _relabelled(pair: PairedPredictions) -> Floats:
    return (pair.labels[0] - pair.labels[1]).astype(np.float64)

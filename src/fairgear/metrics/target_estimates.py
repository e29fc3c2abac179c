"""Estimates with intervals of predictions of several classes, and of numbers.

A largest gap is the largest of several, so each of them has an interval that holds for all at once
(Bonferroni); for two classes and two groups that is the interval of the one gap. The direction in
which the surroundings explain most is chosen from the data, so its interval is wider by Scheffé's
factor √(χ²_k ÷ χ²_1), k being the free directions: 1 for two classes and for numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, expit

from fairgear.graph.targets import Target
from fairgear.metrics.classes import class_rates, counted, largest_gap, least_ratio, macro_auroc
from fairgear.metrics.classes import macro_f1 as macro_f1_of
from fairgear.metrics.estimates import Estimate, f1_interval
from fairgear.metrics.inputs import Floats, Integers, as_clusters, check_level, pooled, undefined
from fairgear.metrics.intervals import (
    UNDEFINED,
    Interval,
    bootstrap_interval,
    effective_clusters,
    multiplicities,
    resampled_auroc,
    weighted_sums,
)
from fairgear.metrics.numbers import explained_share, mae, prediction_r2, rmse
from fairgear.metrics.rates import (
    MIN_COMMUNITIES,
    difference_interval,
    exact_interval,
    rate_interval,
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Answers to people, and how their communities are resampled.

    Attributes:
        y: labels, all known.
        scores: (n, C), or (n,) numbers.
        answers: predicted classes, or numbers.
        group: of each person, from 0.
        summary: the mean sensitive value of the closed neighbourhood, (n,) or (n, m).
        clusters: communities, numbered from 0.
        target: what is predicted.
    """

    y: NDArray[Any]
    scores: Floats
    answers: NDArray[Any]
    group: Integers
    summary: Floats
    clusters: Integers
    target: Target
    draws: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        object.__setattr__(
            self, "clusters", pooled(as_clusters("clusters", self.clusters, len(self.answers)))
        )

    @property
    def weights(self) -> Floats:
        """How often each community counts, in every resample."""
        return multiplicities(self.clusters, draws=self.draws, seed=self.seed)

    def groups(self) -> list[int]:
        """Those that somebody is of."""
        return [int(g) for g in np.unique(self.group)]

    def interval(
        self, value: float, drawn: Callable[[Floats], Floats], level: float | None = None
    ) -> Interval:
        """Of a statistic of the communities' weights."""
        size = effective_clusters(self.clusters)
        with np.errstate(invalid="ignore", divide="ignore"):
            replicates = drawn(self.weights)
        return bootstrap_interval(value, replicates, size, level=level or self.level)


def class_estimates(sample: Sample) -> dict[str, Estimate]:
    """Accuracy, macro F1, AUROC, ΔEO, ΔDP, their ratios, and R², for several classes."""
    y, pred, number = sample.y, sample.answers, len(sample.target.classes)
    right = (y == pred).astype(np.float64)
    chosen, told = (
        class_rates(pred, sensitive_features=sample.group, classes=number, y=given)
        for given in (None, y)
    )
    everyone = np.ones(len(y), dtype=np.bool_)
    one_hot = np.eye(number)[pred]
    return {
        "accuracy": Estimate(
            float(right.mean()), rate_interval(right, sample.clusters, level=sample.level)
        ),
        "macro_f1": _macro_f1(sample),
        "auroc": _macro_auroc(sample),
        "delta_eo": _gap("ΔEO", sample, told, lambda one: y == one),
        "delta_dp": _gap("ΔDP", sample, chosen, lambda one: everyone),
        "eo_ratio": Estimate(least_ratio(told), UNDEFINED),
        "dp_ratio": Estimate(least_ratio(chosen), UNDEFINED),
        "r2": dependence_estimate(sample, one_hot, directions=number - 1),
    }


def number_estimates(sample: Sample) -> dict[str, Estimate]:
    """MAE, RMSE, R² of prediction, gaps of mean prediction and residual, and R²."""
    y, pred, unit = sample.y, sample.answers, sample.target.sd
    residual = y - pred
    squares, absolute, centred = np.square(residual), np.abs(residual), y - y.mean()

    def means(*columns: Floats) -> Callable[[Floats], Floats]:
        def value(weights: Floats) -> Floats:
            sums = weighted_sums([np.ones(len(y)), *columns], sample.clusters, weights)
            found: Floats = sums[1:] / sums[0]
            return found

        return value

    def log_square(weights: Floats) -> Floats:
        return _log(means(squares)(weights)[0])

    def log_unexplained(weights: Floats) -> Floats:
        error, mean, square = means(squares, centred, np.square(centred))(weights)
        return _log(error) - _log(square - np.square(mean))

    errors = [mae(y, pred), rmse(y, pred), prediction_r2(y, pred)]
    size = sample.interval(errors[0], lambda w: means(absolute)(w)[0])
    root = explained = Interval(errors[1], errors[1]) if errors[1] == 0 else UNDEFINED
    if errors[1] > 0 and not math.isnan(errors[2]):
        # Symmetric in the logarithm: squares are positive and skewed.
        root = _mapped(sample.interval(2 * math.log(errors[1]), log_square), lambda v: v / 2)
        root = _mapped(root, math.exp)
        low, high = sample.interval(math.log(1 - errors[2]), log_unexplained)
        explained = Interval(1 - math.exp(high), 1 - math.exp(low))
    elif errors[1] == 0:
        explained = Interval(1.0, 1.0)
    return {
        "mae": Estimate(errors[0], Interval(max(0.0, size.low), size.high)),
        "rmse": Estimate(errors[1], root),
        "r2_prediction": Estimate(errors[2], explained),
        "delta_residual": mean_gap_estimate(sample, residual / unit),
        "delta_mean": mean_gap_estimate(sample, pred / unit),
        "r2": dependence_estimate(sample, pred, directions=1),
    }


def mean_gap_estimate(sample: Sample, values: Floats) -> Estimate:
    """The largest gap of the groups' means, with the gap's sign where there are two groups."""
    groups = sample.groups()
    pairs = list(combinations(groups, 2))
    if not pairs:
        return Estimate(undefined("a gap of means", "there is one group only"), UNDEFINED)
    level = 1 - (1 - sample.level) / len(pairs)
    gaps, ends = [], []
    for first, second in pairs:
        gaps.append(
            float(values[sample.group == second].mean() - values[sample.group == first].mean())
        )
        ends.append(_mean_gap_interval(sample, values, first, second, level))
    largest = int(np.argmax(np.abs(gaps)))
    signed, interval = gaps[largest], ends[largest]
    return Estimate(abs(signed), _over_all(ends), signed, interval)


def _mean_gap_interval(
    sample: Sample, values: Floats, first: int, second: int, level: float
) -> Interval:
    """Of the mean of one group less that of another, by resampling communities."""
    parts = [(sample.group == g).astype(np.float64) for g in (first, second)]
    columns = [*parts, *(part * values for part in parts)]

    def drawn(weights: Floats) -> Floats:
        count0, count1, sum0, sum1 = weighted_sums(columns, sample.clusters, weights)
        found: Floats = sum1 / count1 - sum0 / count0
        return found

    value = float(drawn(np.ones((1, int(sample.clusters.max()) + 1)))[0])
    size = min(effective_clusters(sample.clusters[part == 1]) for part in parts)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = drawn(sample.weights)
    return bootstrap_interval(value, replicates, size, level=level)


def dependence_estimate(sample: Sample, answers: Floats, *, directions: int) -> Estimate:
    """R² of answers on the summary; its interval is that of the correlation of their best fit."""
    value = explained_share(answers, sample.summary)
    if math.isnan(value):
        return Estimate(value, UNDEFINED)
    y = answers.reshape(len(answers), -1) - answers.reshape(len(answers), -1).mean(axis=0)
    x = sample.summary.reshape(len(y), -1)
    fit = (x - x.mean(axis=0)) @ np.linalg.lstsq(x - x.mean(axis=0), y, rcond=None)[0]
    # √R² = Σ y·fit ÷ √(Σ|y|² Σ|fit|²): how far the answers go along the fit, which is held.
    columns = [np.ones(len(y)), (y * fit).sum(axis=1), (fit * fit).sum(axis=1)]
    columns += [(y * y).sum(axis=1), *fit.T, *y.T]
    width = y.shape[1]

    def drawn(weights: Floats) -> Floats:
        sums = weighted_sums(columns, sample.clusters, weights)
        total, along, fits, whole = sums[:4]
        fit_mean, y_mean = sums[4 : 4 + width], sums[4 + width :]
        along = along - (fit_mean * y_mean).sum(axis=0) / total
        fits = fits - np.square(fit_mean).sum(axis=0) / total
        whole = whole - np.square(y_mean).sum(axis=0) / total
        found: Floats = along / np.sqrt(np.where(fits * whole > 0, fits * whole, np.nan))
        return found

    edge = 1 - 1e-12
    root = math.sqrt(value)
    free = max(1, directions * x.shape[1])
    factor = math.sqrt(chdtri(free, 1 - sample.level) / chdtri(1, 1 - sample.level))
    middle = math.atanh(min(root, edge))
    interval = sample.interval(middle, lambda w: np.arctanh(np.clip(drawn(w), -edge, edge)))
    ends = [math.tanh(middle + factor * (end - middle)) for end in interval]
    squared = Interval(*(end * end for end in Interval(ends[0], ends[1]).absolute()))
    return Estimate(value, squared)


def _gap(
    name: str, sample: Sample, rates: Floats, among: Callable[[int], NDArray[np.bool_]]
) -> Estimate:
    value, (one, first, second) = largest_gap(rates)
    if math.isnan(value):
        return Estimate(undefined(name, "no class has people of two groups"), UNDEFINED)
    pairs = [
        (c, a, b)
        for c in counted(rates.shape[1])
        for a, b in combinations(range(len(rates)), 2)
        if not math.isnan(rates[a, c] - rates[b, c])
    ]
    level = 1 - (1 - sample.level) / len(pairs)
    ends = {pair: _rate_gap(sample, pair, among(pair[0]), level) for pair in pairs}
    signed = float(rates[second, one] - rates[first, one])
    return Estimate(value, _over_all(list(ends.values())), signed, ends[one, first, second])


def _rate_gap(
    sample: Sample, pair: tuple[int, int, int], among: NDArray[np.bool_], level: float
) -> Interval:
    one, first, second = pair
    chosen = among & np.isin(sample.group, (first, second))
    return difference_interval(
        (sample.answers[chosen] == one).astype(np.float64),
        sample.clusters[chosen],
        sensitive_features=(sample.group[chosen] == second).astype(np.int64),
        draws=sample.draws,
        level=level,
        seed=sample.seed,
    )


def _over_all(ends: Sequence[Interval]) -> Interval:
    """Of the largest of several, from intervals that hold for all at once."""
    sizes = [one.absolute() for one in ends]
    if not all(one.defined for one in sizes):
        return UNDEFINED
    return Interval(max(one.low for one in sizes), max(one.high for one in sizes))


def _macro_f1(sample: Sample) -> Estimate:
    """The mean of the ends of the classes' intervals: as if all erred together."""
    y, pred = sample.y, sample.answers
    ends = [
        f1_interval(
            (y == one).astype(np.int64),
            (pred == one).astype(np.int64),
            sample.clusters,
            sample.level,
        )
        for one in np.union1d(y, pred)
    ]
    low, high = (float(np.mean([end[k] for end in map(tuple, ends)])) for k in (0, 1))
    return Estimate(macro_f1_of(y, pred), Interval(low, high))


def _macro_auroc(sample: Sample) -> Estimate:
    """The mean over the classes; symmetric in the logit, exact bounds close to 0 or 1."""
    value = macro_auroc(sample.y, sample.scores)
    if math.isnan(value):
        return Estimate(value, UNDEFINED)
    which = counted(len(sample.target.classes))
    sides = [(sample.y == one).astype(np.int64) for one in which]
    size = min(
        effective_clusters(sample.clusters[side == label]) for side in sides for label in (0, 1)
    )
    rarer = sum(min(int(side.sum()), int((1 - side).sum())) for side in sides)
    if rarer * min(value, 1 - value) < MIN_COMMUNITIES:
        return Estimate(value, exact_interval(value, size, level=sample.level))
    weights = sample.weights
    drawn = [
        resampled_auroc(side, sample.scores[:, one], sample.clusters, weights)
        for one, side in zip(which, sides, strict=True)
    ]
    interval = bootstrap_interval(value, np.mean(drawn, axis=0), size, level=sample.level)
    margin = (interval.high - value) / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return Estimate(value, Interval(float(expit(logit - margin)), float(expit(logit + margin))))


def _log(values: Floats) -> Floats:
    """The logarithm, NaN of what is not positive."""
    logs: Floats = np.log(np.where(values > 0, values, np.nan))
    return logs


def _mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    return Interval(*(function(end) for end in interval)) if interval.defined else interval

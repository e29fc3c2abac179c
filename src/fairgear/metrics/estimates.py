"""The measures by name, and their estimates with intervals from one set of predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from fairgear.metrics.counterfactual import AverageFlips, Flips
from fairgear.metrics.dependence import correlation, r2
from fairgear.metrics.group import delta_dp, delta_eo, group_table
from fairgear.metrics.inputs import (
    Floats,
    Integers,
    Values,
    as_clusters,
    as_finite,
    as_labels,
    as_scores,
    check_level,
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
)
from fairgear.metrics.rates import (
    CORRELATION,
    MIN_COMMUNITIES,
    difference_interval,
    exact_interval,
    rate_interval,
)
from fairgear.metrics.utility import accuracy, auroc, f1
from fairgear.registry import Registry


@dataclass(frozen=True)
class Metric:
    """A measure of predictions, as `audit.json` (`name`) and tables (`label`) call it.

    Example:
        >>> from fairgear.metrics import METRICS
        >>> METRICS["auroc"].label, METRICS["auroc"].direction
        ('AUROC', 'higher')
    """

    name: str
    label: str
    low: float
    high: float
    direction: Literal["higher", "lower"]
    """Which values are better."""

    def better(self, first: float, second: float) -> bool:
        """Whether `first` is strictly better than `second`; never if either is undefined."""
        return first > second if self.direction == "higher" else first < second


METRICS: Registry[Metric] = Registry("metric")

for _metric in (
    Metric("accuracy", "Accuracy", 0.0, 1.0, "higher"),
    Metric("f1", "F1", 0.0, 1.0, "higher"),
    Metric("auroc", "AUROC", 0.0, 1.0, "higher"),
    Metric("delta_eo", "ΔEO", 0.0, 1.0, "lower"),
    Metric("delta_dp", "ΔDP", 0.0, 1.0, "lower"),
    Metric("delta_cf", "δCF (strict)", 0.0, 1.0, "lower"),
    Metric("delta_cf_min", "δCF, least of the causal models", 0.0, 1.0, "lower"),
    Metric("delta_cf_max", "δCF, largest of the causal models", 0.0, 1.0, "lower"),
    Metric("delta_cf_any", "δCF, under any causal model", 0.0, 1.0, "lower"),
    Metric("delta_cf_all", "δCF, under all causal models", 0.0, 1.0, "lower"),
    Metric("delta_cf_released", "δCF (released)", 0.0, 1.0, "lower"),
    Metric("delta_cf_self", "δCF, own attribute", 0.0, 1.0, "lower"),
    Metric("delta_cf_neighbor", "δCF, neighbours' attributes", 0.0, 1.0, "lower"),
    Metric("delta_cf_both", "δCF, own and neighbours'", 0.0, 1.0, "lower"),
    Metric("r2", "R²", 0.0, 1.0, "lower"),
):
    METRICS.add(_metric.name, _metric)

# The measures of all kinds of labels: those above, which are of two classes, and others.
EVERY_METRIC: Registry[Metric] = Registry("metric")

for _metric in (
    *(METRICS[_name] for _name in METRICS),
    # Of labels with several classes, and of numbers.
    Metric("macro_f1", "F1, mean over the classes", 0.0, 1.0, "higher"),
    Metric("eo_ratio", "ratio of right answers by class", 0.0, 1.0, "higher"),
    Metric("dp_ratio", "ratio of answers", 0.0, 1.0, "higher"),
    Metric("mae", "mean absolute error", 0.0, math.inf, "lower"),
    Metric("rmse", "root mean squared error", 0.0, math.inf, "lower"),
    Metric("r2_prediction", "R² of prediction", -math.inf, 1.0, "higher"),
    Metric("delta_mean", "gap of mean predictions, in sd", 0.0, math.inf, "lower"),
    Metric("delta_residual", "gap of mean residuals, in sd", 0.0, math.inf, "lower"),
    # Of several groups, and of a sensitive number.
    Metric("delta_cf_world", "δCF, largest of the worlds", 0.0, 1.0, "lower"),
    Metric("delta_cf_size", "δCF, mean size of the change", 0.0, math.inf, "lower"),
):
    EVERY_METRIC.add(_metric.name, _metric)


@dataclass(frozen=True)
class Estimate:
    """A measure's value and interval, NaN if undefined.

    Attributes:
        value: as reported.
        interval: of `value`.
        signed: for ΔDP and ΔEO group 1 minus group 0, for R² the correlation; else NaN.
        signed_interval: of `signed`; if it contains 0, `interval` starts at 0.
        error: Monte Carlo standard error of the draws, for counterfactual measures; else NaN.

    Example:
        >>> from fairgear.metrics import flip_estimate, flips
        >>> found = flips([0, 1, 1, 0] * 25, [0, 1, 1, 0] * 24 + [1, 1, 1, 0])
        >>> estimate = flip_estimate(found, [person // 4 for person in range(100)])
        >>> estimate.value, round(estimate.interval.high, 2)
        (0.01, 0.07)
    """

    value: float
    interval: Interval
    signed: float = math.nan
    signed_interval: Interval = UNDEFINED
    error: float = math.nan


def evaluate_predictions(
    y: Values,
    scores: Values,
    pred: Values,
    *,
    sensitive_features: Values,
    summary: Values,
    clusters: Values,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Accuracy, F1, AUROC, ΔEO, ΔDP and R² of one set of predictions, with intervals.

    AUROC is that of `scores`, all else that of the predicted labels `pred`. `summary`, for R², is
    the mean sensitive value of the closed neighbourhood, `clusters` the community of each person;
    `draws` and `seed` are those of the resamples.

    Example:
        >>> import numpy as np
        >>> from fairgear.metrics import evaluate_predictions
        >>> rng = np.random.default_rng(0)
        >>> y, sens = rng.integers(0, 2, 100), rng.integers(0, 2, 100)
        >>> scores = 0.3 * y + 0.7 * rng.random(100)
        >>> estimates = evaluate_predictions(
        ...     y,
        ...     scores,
        ...     (scores > 0.5).astype(int),
        ...     sensitive_features=sens,
        ...     summary=rng.random(100),
        ...     clusters=np.arange(100) // 4,
        ... )
        >>> sorted(estimates)
        ['accuracy', 'auroc', 'delta_dp', 'delta_eo', 'f1', 'r2']
        >>> estimates["accuracy"].value
        0.72
    """
    labels, predicted = as_labels("y", y), as_labels("pred", pred)
    ranked, means = as_scores("scores", scores), as_finite("summary", summary)
    group = as_labels("sensitive_features", sensitive_features)
    same_length(y=labels, scores=ranked, pred=predicted, summary=means, sensitive_features=group)
    cluster = pooled(as_clusters("clusters", clusters, len(labels)))
    check_level(level)
    weights = multiplicities(cluster, draws=draws, seed=seed)
    table = group_table(predicted, sensitive_features=group, y=labels)

    def gap(value: float, signed: float, among: Integers) -> Estimate:
        if math.isnan(value):
            return Estimate(value, UNDEFINED)
        chosen = among == 1
        interval = difference_interval(
            predicted[chosen],
            cluster[chosen],
            sensitive_features=group[chosen],
            draws=draws,
            level=level,
            seed=seed,
        )
        return Estimate(value, interval.absolute(), signed, interval)

    return {
        "accuracy": Estimate(
            accuracy(labels, predicted),
            rate_interval(labels == predicted, cluster, level=level),
        ),
        "f1": Estimate(f1(labels, predicted), f1_interval(labels, predicted, cluster, level)),
        "auroc": _auroc_estimate(labels, ranked, cluster, weights, level),
        "delta_eo": gap(
            delta_eo(labels, predicted, sensitive_features=group),
            table.true_positive_rate_difference,
            labels,
        ),
        "delta_dp": gap(
            delta_dp(predicted, sensitive_features=group),
            table.selection_rate_difference,
            np.ones_like(labels),
        ),
        "r2": _r2_estimate(predicted, means, cluster, weights, level),
    }


def flip_estimate(
    flips: Flips | AverageFlips,
    clusters: Values,
    *,
    level: float = 0.95,
    correlation: float = CORRELATION,
    regions: Values | None = None,
) -> Estimate:
    """A flip rate or δCF with its interval over people and, apart, the error of its draws.

    Example:
        >>> from fairgear.metrics import flip_estimate, flips
        >>> found = flips([0, 1, 1, 0] * 25, [0, 1, 1, 0] * 24 + [1, 1, 1, 0])
        >>> estimate = flip_estimate(found, [person // 4 for person in range(100)])
        >>> estimate.value
        0.01
        >>> round(estimate.interval.low, 3), round(estimate.interval.high, 3)
        (0.0, 0.07)
    """
    interval = rate_interval(
        flips.by_node, clusters, level=level, correlation=correlation, regions=regions
    )
    return Estimate(flips.rate, interval, error=flips.error)


def largest_estimate(
    flips: AverageFlips, clusters: Values, *, level: float = 0.95, regions: Values | None = None
) -> Estimate:
    """The flips in the world that has most; ends that hold for all worlds at once (Bonferroni).

    Example:
        >>> from fairgear.metrics import largest_estimate, over_rates
        >>> factual = [0, 1, 1, 0] * 25
        >>> few, many = [0, 1, 1, 0] * 24 + [1] * 4, [0, 1, 1, 0] * 20 + [1, 1, 1, 0] * 5
        >>> average = over_rates(factual, {0.0: few, 1.0: many})
        >>> round(average.rate, 3)
        0.035
        >>> largest_estimate(average, [person // 4 for person in range(100)]).value
        0.05
    """
    each = 1 - (1 - level) / len(flips.by_world)
    worlds = flips.by_world.values()
    found = [flip_estimate(one, clusters, level=each, regions=regions) for one in worlds]
    most = max(found, key=lambda one: one.value)
    ends = [one.interval for one in found]
    interval = Interval(max(end.low for end in ends), max(end.high for end in ends))
    return Estimate(most.value, interval, error=most.error)


def f1_interval(y: Integers, pred: Integers, clusters: Integers, level: float) -> Interval:
    """F1 = 2J/(1+J), where J is the share of true positives in class 1 ∪ predicted class 1."""
    either = (y | pred) == 1
    if not either.any():
        return UNDEFINED
    share = rate_interval((y & pred)[either], clusters[either], level=level)
    return Interval(*(2 * end / (1 + end) for end in share))


def at_the_edge(y: Integers, value: float) -> bool:
    """Whether an AUROC is so close to 0 or 1 that resamples say little about it."""
    return bool(min(y.sum(), (1 - y).sum()) * min(value, 1 - value) < MIN_COMMUNITIES)


def auroc_estimate(
    y: Integers,
    scores: Floats,
    clusters: Values,
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """AUROC of some people by itself, as `evaluate_predictions` has it."""
    cluster = pooled(as_clusters("clusters", clusters, len(y)))
    weights = multiplicities(cluster, draws=draws, seed=seed)
    return _auroc_estimate(y, scores, cluster, weights, level)


def _auroc_estimate(
    y: Integers, scores: Floats, clusters: Integers, weights: Floats, level: float
) -> Estimate:
    """AUROC; its interval is symmetric in the logit.

    Close to 0 or 1 resamples say little. The variance is at most A(1−A)/min(n₀, n₁) (Birnbaum and
    Klose), so exact binomial bounds with the smaller class's number of clusters are safe there.
    """
    value = auroc(y, scores)
    if math.isnan(value):
        return Estimate(value, UNDEFINED)
    if np.ptp(scores) == 0:
        # A constant score has the same AUROC in every sample.
        return Estimate(value, Interval(value, value))
    size = min(effective_clusters(clusters[y == label]) for label in (0, 1))
    if at_the_edge(y, value):
        return Estimate(value, exact_interval(value, size, level=level))
    replicates = resampled_auroc(y, scores, clusters, weights)
    interval = bootstrap_interval(value, replicates, size, level=level)
    margin = (interval.high - value) / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return Estimate(value, Interval(float(expit(logit - margin)), float(expit(logit + margin))))


def _r2_estimate(
    pred: Integers, summary: Floats, clusters: Integers, weights: Floats, level: float
) -> Estimate:
    """R² as the square of the correlation, whose interval is symmetric in Fisher's transform.

    Resamples of R² itself lie above it and never reach 0; those of the signed correlation do.
    """
    value = r2(pred, summary)
    if math.isnan(value):
        return Estimate(value, UNDEFINED)
    signed = correlation(pred.astype(np.float64), summary)
    drawn = resampled_correlation(pred, summary, clusters, weights)
    interval = bootstrap_interval(
        float(_fisher(signed)), _fisher(drawn), effective_clusters(clusters), level=level
    )
    interval = Interval(*(math.tanh(end) for end in interval))
    squared = Interval(*(end * end for end in interval.absolute()))
    return Estimate(value, squared, signed, interval)


def _fisher(values: Floats | float) -> Floats:
    """Fisher's transform; a perfect correlation is kept finite."""
    edge = 1 - 1e-12
    result: Floats = np.arctanh(np.clip(values, -edge, edge))
    return result

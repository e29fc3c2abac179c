"""Intervals of proportions, such as flip rates, and of differences between two groups.

What is estimated is the rate among other people like these, in other communities, for the same
model: of the audited people themselves the rate is known. So the variance is that between
communities, and a part that all communities of one graph share cannot be seen in it.

One rule from no flips to half of them, by Korn and Graubard (survey statistics): the exact binomial
bounds of Clopper and Pearson, with the number of people divided by the design effect. The design
effect says how much more the rate varies because people flip together. It is estimated by leaving
out one community at a time, the limit of resampling them, without its noise and with a correction
for large ones; then one region at a time, where neighbouring communities flip together. The larger
of the two counts, each multiplied by the square of the ratio of t to normal quantiles. A few
communities with flips say little, so the estimate is averaged with the design effect of an assumed
correlation, which weighs as much as two communities with flips, and is all if there is none.

In simulations (`benchmarks/interval_coverage.py`, table in `docs/concepts/intervals.md`) with rates
up to 0.2, intervals at 95 % covered 0.95 or more where up to 0.3 of the latent variance was shared
within communities, and 0.92 or more where it was shared over two steps of a sparse graph. Where it
was shared by areas larger than regions, over many steps or by a feature, they covered down to 0.38.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, ndtri

from fairgear.errors import ParameterError
from fairgear.metrics.inputs import (
    Floats,
    Integers,
    Values,
    as_clusters,
    as_labels,
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
    resampled_gap,
    student_quantile,
)

# Assumed between two members of a community where the data say little. Latent values that correlate
# at 0.3 give flips at a rate of 0.05 that correlate at 0.1, and rarer ones at less.
CORRELATION = 0.2
# The weight of this assumption, in communities with flips.
PRIOR_COMMUNITIES = 2.0
# With fewer communities with, or without, hits than this, a difference is not bootstrapped.
MIN_COMMUNITIES = 10


def rate_interval(
    hits: Values,
    clusters: Values,
    *,
    level: float = 0.95,
    correlation: float = CORRELATION,
    regions: Values | None = None,
) -> Interval:
    """Interval of the mean of `hits`, also if nobody, everybody or only a few people are hit.

    Args:
        hits: 0 or 1 for each person, or the share of the draws in which they flip.
        clusters: the community of each person.
        level: probability that the interval covers, at least.
        correlation: between the hits of two members of a community, assumed where the data say
            little. With no hits the bound is that of n / (1 + (Σm²/n − 1)·correlation) independent
            people, m being the sizes of the communities. 1 lets whole communities flip as one.
        regions: larger groups of each person, such as `fairgear.graph.regions`, where communities
            that are linked may flip together.

    Example:
        >>> from fairgear.metrics import rate_interval
        >>> communities = [person // 5 for person in range(100)]
        >>> nobody = rate_interval([0] * 100, communities)
        >>> nobody.low, round(nobody.high, 3)
        (0.0, 0.064)
    """
    values, label = clustered_shares("hits", hits, clusters, level)
    if not 0 <= correlation <= 1:
        raise ParameterError("correlation", correlation, "0 to 1", "use 1 to be safe")
    size = effective_size(
        values, label, as_regions(regions, label), level=level, correlation=correlation
    )
    return exact_interval(float(values.mean()), size, level=level)


def as_regions(regions: Values | None, clusters: Integers) -> Integers:
    """Regions as integers from 0; the communities themselves if there are none."""
    return clusters if regions is None else as_clusters("regions", regions, len(clusters))


def exact_interval(rate: float, size: float, *, level: float = 0.95) -> Interval:
    """Clopper and Pearson's bounds of a proportion among `size` people, which may be fractional."""
    tail = (1 - level) / 2
    hit, miss = rate * size, (1 - rate) * size
    low = float(betaincinv(hit, miss + 1, tail)) if hit > 0 else 0.0
    high = float(betaincinv(hit + 1, miss, 1 - tail)) if miss > 0 else 1.0
    return Interval(low, high)


def effective_size(
    values: Floats,
    clusters: Integers,
    regions: Integers,
    *,
    level: float,
    correlation: float = CORRELATION,
) -> float:
    """How many independent people would say as much about the mean of `values`.

    Values are hits, 0 to 1, or differences of two, −1 to 1. See the top of this file.
    """
    effect = 1 + (len(values) / effective_clusters(clusters) - 1) * correlation
    known = informative_clusters(values, clusters)
    levels = [label for label in (clusters, regions) if label.any()]
    if known > 0 and levels:
        estimated = max(_safe_effect(values, label, level) for label in levels)
        effect = (known * estimated + PRIOR_COMMUNITIES * effect) / (known + PRIOR_COMMUNITIES)
    return max(len(values) / effect, 1.0)


def _safe_effect(values: Floats, clusters: Integers, level: float) -> float:
    """The design effect, larger where few clusters make it uncertain, as in a t interval."""
    quantile = student_quantile(effective_clusters(clusters), level)
    return design_effect(values, clusters) * float(quantile / ndtri((1 + level) / 2)) ** 2


def design_effect(values: Floats, clusters: Integers) -> float:
    """Variance of the mean of `values` relative to that of independent people, at least 1.

    Of several clusters, and values that are not all 0, all 1 or all −1. Independent people have
    whole hits only: the variance of one is E|v| − (Ev)².
    """
    size = np.bincount(clusters).astype(np.float64)
    mean, total = float(values.mean()), len(values)
    excess = (np.bincount(clusters, weights=values) - mean * size) / (1 - size / total)
    variance = (len(size) - 1) / len(size) * float(excess @ excess) / total**2
    independent = (float(np.abs(values).mean()) - mean * mean) / total
    return max(1.0, variance / independent)


def informative_clusters(values: Floats, clusters: Integers) -> int:
    """The number of clusters with a hit or with a miss, whichever is smaller.

    For differences, −1 to 1: clusters in which not all are 0, not all 1 or not all −1.
    """
    apart = (np.abs(values), 1 - values, 1 + values)
    return int(min((np.bincount(clusters, weights=part) > 0).sum() for part in apart))


def difference_interval(
    hits: Values,
    clusters: Values,
    *,
    sensitive_features: Values,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Interval of the signed difference, the mean of `hits` in group 1 minus that in group 0.

    Bootstrap over communities, both groups of one together. If in a group only a few communities
    have a hit, or a miss, resamples say little: the interval is then combined from those of the
    two rates (`combined_interval`), as if the groups were independent. NaN if a group is empty.

    Example:
        >>> import numpy as np
        >>> from fairgear.metrics import difference_interval
        >>> rng = np.random.default_rng(0)
        >>> sens = rng.integers(0, 2, 400)
        >>> hits = rng.random(400) < 0.1 + 0.3 * sens
        >>> interval = difference_interval(hits, np.arange(400) // 8, sensitive_features=sens)
        >>> round(interval.low, 2), round(interval.high, 2)
        (0.17, 0.33)
    """
    values, label = clustered_shares("hits", hits, clusters, level)
    group = as_labels("sensitive_features", sensitive_features)
    same_length(hits=values, sensitive_features=group)
    if group.min() == group.max():
        return UNDEFINED
    parts = [(values[group == g], label[group == g]) for g in (0, 1)]
    rate0, rate1 = (float(part.mean()) for part, _ in parts)
    if min(informative_clusters(*part) for part in parts) < MIN_COMMUNITIES:
        ends0, ends1 = (rate_interval(*part, level=level) for part in parts)
        return combined_interval(rate1, ends1, rate0, ends0)
    label = pooled(label)
    drawn = resampled_gap(values, group, label, multiplicities(label, draws=draws, seed=seed))
    smaller = min(effective_clusters(within) for _, within in parts)
    return bootstrap_interval(rate1 - rate0, drawn, smaller, level=level).clipped(-1.0, 1.0)


def combined_interval(
    first: float,
    first_ends: Interval,
    second: float,
    second_ends: Interval,
    *,
    correlation: float = 0.0,
) -> Interval:
    """Interval of first − second from those of the two, d ± √(a² + b² − 2·correlation·a·b).

    By Newcombe: a and b are the distances from the two estimates to their ends on that side, so
    asymmetric intervals give an asymmetric one. NaN if any of them is. `correlation` is that of the
    two estimates.
    """

    def reach(a: float, b: float) -> float:
        return math.sqrt(a * a + b * b - 2 * correlation * a * b)

    difference = first - second
    return Interval(
        difference - reach(first - first_ends.low, second_ends.high - second),
        difference + reach(first_ends.high - first, second - second_ends.low),
    ).clipped(-1.0, 1.0)

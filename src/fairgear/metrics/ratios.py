"""The rates of several groups beside each other: impact ratios, and a test that rates are equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import UNDEFINED, Interval
from fairgear.metrics.rates import effective_size


def ratio_interval(
    first: float, first_ends: Interval, second: float, second_ends: Interval
) -> Interval:
    """Interval of first / second, two rates, from the intervals of the two.

    By Donner and Zou: the ratios R for which Newcombe's interval of first − R·second contains 0.
    Intervals of the rates that hold for clusters and for few people give one that does. The two
    rates count as independent; where both rise in the same communities, it is too wide. Undefined
    where the second rate may be 0.
    """
    if not (first_ends.defined and second_ends.defined) or second_ends.low <= 0:
        return UNDEFINED
    both = first * second
    least, most = (end * (2 * first - end) for end in first_ends)
    least2, most2 = (end * (2 * second - end) for end in second_ends)
    below = both + math.sqrt(max(both * both - least * most2, 0.0))
    above = both + math.sqrt(max(both * both - most * least2, 0.0))
    return Interval(least / below if below > 0 else 0.0, above / least2)


@dataclass(frozen=True)
class RateTest:
    """A test that the rates of some groups are equal.

    Attributes:
        attribute: whose values the groups are; empty where they are all groups of the audit.
        statistic: Pearson's χ².
        degrees: its degrees of freedom.
        p_value: how often groups with equal rates would differ as much.
        least_expected: the smallest count that equal rates expect; below 5 the test is rough.
    """

    attribute: str
    statistic: float
    degrees: int
    p_value: float
    least_expected: float


def equal_rates(
    hits: Floats,
    groups: Integers,
    clusters: Integers,
    regions: Integers,
    *,
    level: float = 0.95,
    attribute: str = "",
) -> RateTest | None:
    """Pearson's test of equal rates with effective numbers of people; None of fewer than 2 groups.

    By Rao and Scott: each group counts as many people as its design effect leaves, that of the
    intervals by `rate_interval`. Groups count as independent of each other.
    """
    members = [groups == group for group in np.unique(groups)]
    if len(members) < 2:
        return None
    rates = [float(hits[one].mean()) for one in members]
    sizes = [
        effective_size(
            hits[one],
            np.unique(clusters[one], return_inverse=True)[1],
            np.unique(regions[one], return_inverse=True)[1],
            level=level,
        )
        for one in members
    ]
    return RateTest(attribute, *chi_square(rates, sizes))


def chi_square(rates: Sequence[float], sizes: Sequence[float]) -> tuple[float, int, float, float]:
    """Pearson's χ² of rates among so many people, which may be fractional: a field each."""
    rate, size = np.array(rates), np.array(sizes)
    pooled = float(rate @ size / size.sum())
    spread, degrees = pooled * (1 - pooled), len(rate) - 1
    if spread <= 0:
        return 0.0, degrees, 1.0, 0.0
    statistic = float(size @ (rate - pooled) ** 2 / spread)
    least = float(size.min() * min(pooled, 1 - pooled))
    return statistic, degrees, float(chdtrc(degrees, statistic)), least

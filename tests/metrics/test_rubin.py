"""Rubin's rules, against a computation by hand and the limits that they must have."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t

from fairgear.metrics import UNDEFINED, Interval
from fairgear.metrics.rubin import combined_estimate, degrees_of_freedom

COMMUNITIES = 31.0


def around(value: float, error: float) -> Interval:
    """The t interval of a value with this standard error."""
    reach = t.ppf(0.975, COMMUNITIES - 1) * error
    return Interval(value - reach, value + reach)


def test_by_hand() -> None:
    # Means 2, 3, 4 with variances 1, 1, 4: W = 2, B = 1, T = 2 + (4/3)·1 = 10/3, λ = 0.4.
    value, interval = combined_estimate(
        [2.0, 3.0, 4.0],
        [around(2, 1), around(3, 1), around(4, 2)],
        effective=COMMUNITIES,
    )
    complete = 30.0
    old, observed = 2 / 0.4**2, 31 / 33 * complete * 0.6
    degrees = old * observed / (old + observed)
    reach = t.ppf(0.975, degrees) * math.sqrt(10 / 3)
    assert value == 3.0
    assert tuple(interval) == pytest.approx((3 - reach, 3 + reach))
    assert degrees_of_freedom(2.0, 4 / 3, 3, complete) == pytest.approx(degrees)


def test_completions_that_agree_change_nothing() -> None:
    ends = around(0.4, 0.03)
    value, interval = combined_estimate([0.4] * 5, [ends] * 5, effective=COMMUNITIES)
    assert value == pytest.approx(0.4)
    assert tuple(interval) == pytest.approx(tuple(ends))


def test_sides_are_combined_apart() -> None:
    values = [0.0, 0.01, 0.0, 0.02, 0.0]
    ends = [Interval(max(0.0, v - 0.01), v + 0.03) for v in values]
    value, interval = combined_estimate(values, ends, effective=COMMUNITIES, low=0.0, high=1.0)
    assert interval.low == 0.0
    assert interval.high - value > 0.03


def test_more_completions_that_differ_widen() -> None:
    alike = combined_estimate([0.2] * 5, [around(0.2, 0.02)] * 5, effective=COMMUNITIES)[1]
    apart = [0.1, 0.2, 0.3, 0.15, 0.25]
    wide = combined_estimate(apart, [around(v, 0.02) for v in apart], effective=COMMUNITIES)[1]
    assert wide.high - wide.low > 2 * (alike.high - alike.low)


def test_without_variance_within() -> None:
    # Certain in each completion: t has a single degree of freedom, the fewest that are used.
    ends = [Interval(v, v) for v in (0.2, 0.4)]
    _, interval = combined_estimate([0.2, 0.4], ends, effective=COMMUNITIES)
    assert interval.high == pytest.approx(0.3 + t.ppf(0.975, 1) * math.sqrt(1.5 * 0.02))


def test_undefined() -> None:
    assert combined_estimate([0.1, 0.2], [UNDEFINED, UNDEFINED], effective=3.0)[1] is UNDEFINED
    value, interval = combined_estimate([0.1, math.nan], [around(0.1, 1)] * 2, effective=3.0)
    assert math.isnan(value)
    assert interval is UNDEFINED

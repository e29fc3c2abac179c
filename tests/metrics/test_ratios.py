"""Ratios of rates and tests of equal rates, against roots, SciPy and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2_contingency

from fairgear.metrics import UNDEFINED, Interval, rate_interval
from fairgear.metrics.rates import exact_interval
from fairgear.metrics.ratios import chi_square, equal_rates, ratio_interval


@given(
    st.integers(1, 300),
    st.integers(5, 300),
    st.floats(0, 1),
    st.floats(0.05, 1),
)
def test_the_ends_are_where_the_interval_of_a_difference_ends_at_zero(
    n: int, m: int, first: float, second: float
) -> None:
    """Newcombe's interval of p − R·q, solved for the R at which an end of it is 0."""
    p, q = round(first * n) / n, max(1, round(second * m)) / m
    one, other = exact_interval(p, n), exact_interval(q, m)
    found = ratio_interval(p, one, q, other)

    def end(ratio: float, low: bool) -> float:
        a = p - one.low if low else one.high - p
        b = ratio * (other.high - q if low else q - other.low)
        return (p - ratio * q) - math.hypot(a, b) if low else (p - ratio * q) + math.hypot(a, b)

    ratio = p / q
    if p > 0:
        assert found.low == pytest.approx(brentq(lambda r: end(r, True), 0, ratio), abs=1e-7)
    else:
        assert found.low == 0
    top = ratio + 1
    while end(top, False) > 0:
        top *= 2
    assert found.high == pytest.approx(brentq(lambda r: end(r, False), ratio, top), rel=1e-6)
    assert ratio in found or found.low == pytest.approx(ratio)


def test_many_people_have_the_interval_of_the_delta_method() -> None:
    n, p, q = 10**6, 0.3, 0.4
    found = ratio_interval(p, exact_interval(p, n), q, exact_interval(q, n))
    error = math.sqrt((1 - p) / (p * n) + (1 - q) / (q * n))
    assert found.low == pytest.approx(p / q * math.exp(-1.96 * error), rel=1e-4)
    assert found.high == pytest.approx(p / q * math.exp(1.96 * error), rel=1e-4)


def test_a_rate_that_may_be_zero_divides_nothing() -> None:
    assert ratio_interval(0.5, Interval(0.4, 0.6), 0.0, Interval(0.0, 0.1)) is UNDEFINED
    assert ratio_interval(math.nan, UNDEFINED, 0.5, Interval(0.4, 0.6)) is UNDEFINED


def _society(rng: np.random.Generator, correlation: float) -> tuple[np.ndarray, ...]:
    """Two groups of 600 and 150 in 75 communities; hits at 0.3 and 0.4, clustered by a beta law."""
    clusters = np.repeat(np.arange(75), 10)
    groups = np.where(np.arange(750) % 5 == 4, 1, 0)
    rates = np.array([0.3, 0.4])
    spread = 1 / correlation - 1
    drawn = np.stack([rng.beta(r * spread, (1 - r) * spread, 75) for r in rates], axis=1)
    return (rng.random(750) < drawn[clusters, groups]).astype(float), groups, clusters


def test_ratios_cover_in_clustered_people() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        hits, groups, clusters = _society(rng, 0.1)
        parts = [(hits[groups == g], clusters[groups == g]) for g in (0, 1)]
        ends = [rate_interval(*part) for part in parts]
        rates = [part.mean() for part, _ in parts]
        covered += 0.75 in ratio_interval(rates[0], ends[0], rates[1], ends[1])
    assert covered / 400 > 0.93


@given(st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), min_size=2, max_size=6))
def test_pearsons_test_is_that_of_scipy(parts: list[tuple[int, float]]) -> None:
    sizes = [n for n, _ in parts]
    hits = [round(share * n) for n, share in parts]
    found = chi_square([h / n for h, n in zip(hits, sizes, strict=True)], sizes)
    if sum(hits) in (0, sum(sizes)):
        assert found[0] == 0
        assert found[2] == 1
        return
    table = [hits, [n - h for h, n in zip(hits, sizes, strict=True)]]
    oracle = chi2_contingency(table, correction=False)
    assert found[0] == pytest.approx(oracle.statistic, abs=1e-9)
    assert found[1] == oracle.dof
    assert found[2] == pytest.approx(oracle.pvalue)
    assert found[3] == pytest.approx(oracle.expected_freq.min())


def test_equal_rates_in_clusters_are_seldom_told_apart() -> None:
    """Pearson's own test, which takes people as independent, rejects more than twice as often."""
    rng, draws = np.random.default_rng(3), 400
    rejected, plain = 0, 0
    for _ in range(draws):
        clusters = np.repeat(np.arange(60), 10)
        groups = clusters % 2
        rate = rng.beta(0.4 * 9, 0.6 * 9, 60)
        hits = (rng.random(600) < rate[clusters]).astype(float)
        found = equal_rates(hits, groups, clusters, clusters)
        assert found is not None
        rejected += int(found.p_value < 0.05)
        table = [[(hits[groups == g] == h).sum() for g in (0, 1)] for h in (0, 1)]
        plain += int(chi2_contingency(table, correction=False).pvalue < 0.05)
    assert rejected / draws < 0.08
    assert plain > 2 * rejected


def test_unequal_rates_are_told_apart() -> None:
    hits = np.concatenate([np.arange(200) % 2, np.arange(200) % 10 == 0]).astype(float)
    groups, clusters = np.repeat([3, 8], 200), np.arange(400)
    found = equal_rates(hits, groups, clusters, clusters, attribute="sex")
    assert found is not None
    assert found.attribute == "sex"
    assert found.p_value < 1e-6
    assert equal_rates(hits, np.zeros(400, dtype=np.int64), clusters, clusters) is None

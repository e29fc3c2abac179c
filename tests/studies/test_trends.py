"""Trends by hand and beside scipy: what falls, what levels off, what is left open."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairgear.studies import claims
from fairgear.studies.claims import (
    FAILS,
    FALLS,
    HOLDS,
    LEAST_SEEDS,
    LEVELS_OFF,
    OPEN,
    SLIGHTLY,
    Trend,
    Verdict,
    spearman,
    trend_verdicts,
)

PUBLISHED = pd.DataFrame(
    [("bail", "r2", 0.038, 0.012)], columns=["dataset", "metric", "published", "published_std"]
)


@pytest.fixture(autouse=True)
def three_seeds_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures by hand are easier with three."""
    monkeypatch.setattr(claims, "LEAST_SEEDS", 3)


def figures(because: str) -> list[float]:
    return [float(text) for text in re.findall(r"[+-]\d+(?:\.\d+)?", because)]


def test_rank_correlation_is_scipys() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y = rng.random(6), rng.integers(0, 4, 6).astype(float)
        ranks = stats.rankdata(x), stats.rankdata(y)
        expected = np.corrcoef(*ranks)[0, 1] if np.ptp(y) else 0.0
        assert spearman(x, y) == pytest.approx(expected)
    assert spearman(np.arange(4.0), np.ones(4)) == 0


def curves(
    x: list[float], *seeds: list[float], metric: str = "r2", sweep: str = "k"
) -> pd.DataFrame:
    """A curve for each seed."""
    return pd.DataFrame(
        [
            {"dataset": "bail", "family": sweep, "value": at, "seed": seed, metric: value}
            for seed, found in enumerate(seeds)
            for at, value in zip(x, found, strict=True)
        ]
    )


def bent(found: pd.DataFrame, place: float | None = None, test: str = FALLS) -> Verdict:
    trend = Trend("a claim", test, "k", ("r2",))
    if place is not None:
        trend = Trend("a claim", LEVELS_OFF, "k", ("r2",), place)
    (one,) = trend_verdicts(trend, found, PUBLISHED)
    return one


def test_a_curve_that_falls_by_hand() -> None:
    x = [5.0, 10.0, 15.0, 20.0]
    falls = [0.4, 0.3, 0.2, 0.1]
    found = bent(curves(x, falls, falls, falls))
    assert (found.verdict, found.because) == (HOLDS, "ρ = -1 (-1 to -1)")
    assert (found.dataset, found.subject, found.metric) == ("bail", "k", "r2")
    assert found.in_paper is None
    assert bent(curves(x, falls[::-1], falls[::-1], falls[::-1])).verdict == FAILS
    assert bent(curves(x, falls, falls[::-1], falls)).verdict == OPEN
    flat = [0.2] * 4
    found = bent(curves(x, flat, flat, flat))
    assert (found.verdict, found.because) == (OPEN, "ρ = +0 (+0 to +0)")
    # ρ by hand: ranks 4 3 1 2 have 1 − 6·(9+1+4+4)/(4·15) = −0.8.
    bumpy = [0.4, 0.3, 0.1, 0.2]
    found = bent(curves(x, bumpy, falls, falls))
    mean = (-0.8 - 1 - 1) / 3
    reach = 4.302653 * np.std([-0.8, -1, -1], ddof=1) / math.sqrt(3)
    assert found.verdict == HOLDS
    assert figures(found.because)[0] == pytest.approx(mean, abs=1e-3)
    # No rank correlation is below −1.
    assert mean - reach < -1
    assert figures(found.because)[1:] == pytest.approx([-1, mean + reach], abs=6e-3)


def test_a_curve_that_levels_off_by_hand() -> None:
    x = [5.0, 10.0, 20.0, 30.0]
    # Slopes −0.02 up to 20 and −0.001 from there; the other way round; the same all along.
    bends = [0.40, 0.30, 0.10, 0.09]
    drops = [0.40, 0.395, 0.385, 0.185]
    found = bent(curves(x, bends, bends, bends), 20)
    assert (found.verdict, found.because) == (
        HOLDS,
        "slope before -0.02 (-0.02 to -0.02), less that after -0.019 (-0.019 to -0.019)",
    )
    assert bent(curves(x, drops, drops, drops), 20).verdict == FAILS
    assert bent(curves(x, bends, drops, bends), 20).verdict == OPEN
    # Flat, then worse: nothing was gained before that could be gained less after.
    worse = [0.1, 0.1, 0.1, 0.3]
    assert bent(curves(x, worse, worse, worse), 20).verdict == OPEN
    rises = [0.1, 0.2, 0.3, 0.9]
    assert bent(curves(x, rises, rises, rises), 20).verdict == FAILS


def test_slightly_is_less_than_a_published_deviation() -> None:
    x = [5.0, 10.0, 15.0]
    for last, expected in ((0.095, HOLDS), (0.2, HOLDS), (0.05, FAILS)):
        one = [0.1, 0.1, last]
        found = bent(curves(x, one, one, one), test=SLIGHTLY)
        assert found.verdict == expected, last
        assert found.because.endswith("allowed -0.0120")
    torn = bent(curves(x, [0.1, 0.1, 0.1], [0.1, 0.1, 0.05], [0.1, 0.1, 0.1]), test=SLIGHTLY)
    assert torn.verdict == OPEN


def test_slopes_are_least_squares() -> None:
    x = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
    seeds = np.random.default_rng(3).random((5, 6))
    found = bent(curves(x, *(list(seed) for seed in seeds)), 20)
    first = [stats.linregress(x[:4], seed[:4]).slope for seed in seeds]
    after = [stats.linregress(x[3:], seed[3:]).slope for seed in seeds]
    told = []
    for values in (first, np.subtract(first, after)):
        ends = stats.ttest_1samp(values, 0).confidence_interval()
        told.append(f"{np.mean(values):+.2g} ({ends.low:+.2g} to {ends.high:+.2g})")
    assert found.because == f"slope before {told[0]}, less that after {told[1]}"


def test_too_few_seeds_or_points_are_open() -> None:
    x, falls = [5.0, 10.0, 15.0], [0.3, 0.2, 0.1]
    assert bent(curves(x, falls, falls)).verdict == OPEN
    assert bent(curves(x[:2], falls[:2], falls[:2], falls[:2])).verdict == OPEN
    # A seed with a point missing is left out: what is left is too little.
    holed = curves(x, falls, falls, falls).iloc[:-1]
    assert bent(holed).verdict == OPEN
    assert bent(curves(x, falls, falls, falls)).verdict == HOLDS
    # There is no slope through a single point.
    found = bent(curves(x, falls, falls, falls), 15)
    assert (found.verdict, "points" in found.because) == (OPEN, True)


def test_other_curves_and_the_order_of_rows_change_nothing() -> None:
    rng = np.random.default_rng(4)
    found = curves([1.0, 2.0, 3.0, 4.0], *(list(rng.random(4)) for _ in range(4)))
    other = curves([1.0, 2.0, 3.0], *([0.0, 0.5, 1.0] for _ in range(4)), sweep="C")
    mixed = pd.concat([found, other]).sample(frac=1, random_state=0)
    for place in (None, 2.0):
        assert bent(mixed, place) == bent(found, place)
    assert list(trend_verdicts(Trend("a claim", FALLS, "λ", ("r2",)), mixed, PUBLISHED)) == []


def test_five_seeds_are_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEAST_SEEDS", LEAST_SEEDS)
    x, falls = [5.0, 10.0, 15.0], [0.3, 0.2, 0.1]
    assert bent(curves(x, *[falls] * 4)).verdict == OPEN
    assert bent(curves(x, *[falls] * 5)).verdict == HOLDS


def test_an_unknown_test_is_no_trend() -> None:
    with pytest.raises(ValueError, match="rises"):
        Trend.read({"claim": "c", "test": "rises", "sweep": "k", "metrics": ["r2"]})

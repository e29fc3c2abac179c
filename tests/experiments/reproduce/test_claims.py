"""Verdicts by hand and beside scipy's own tests: what holds, what does not, what is left open."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from fairgear.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    OPEN,
    Claim,
    Trend,
    Verdict,
    claim_verdicts,
    frame,
    interval,
    spearman,
    trend_verdicts,
)
from tests.experiments.reproduce.toy import rows

NOTHING = pd.DataFrame(columns=["dataset", "line", "metric", "published", "published_std"])


def best(*against: str, metric: str = "auroc", test: str = "best") -> Claim:
    return Claim("the best", test, (metric,), ("ours",), against)


def told(metric: str = "auroc", **cells: tuple[float, float]) -> pd.DataFrame:
    """Published means and deviations of some lines."""
    made = [("toy", line, metric, mean, std) for line, (mean, std) in cells.items()]
    return pd.DataFrame(made, columns=NOTHING.columns)


def verdict(claim: Claim, published: pd.DataFrame = NOTHING, /, **values: list[float]) -> Verdict:
    (found,) = claim_verdicts(claim, rows(values, *claim.metrics), published)
    return found


def figures(because: str) -> list[float]:
    return [float(text) for text in re.findall(r"[+-]\d+\.\d+", because)]


def test_holds_does_not_and_cannot_be_told_by_hand() -> None:
    # Differences 0.1, 0.2, 0.3: mean 0.2, error 0.1/√3, t = 4.303 with two degrees of freedom:
    # 0.2 ± 0.248 is open, 0.3 ± 0.248 holds, −0.3 ± 0.248 does not.
    other = [0.5, 0.5, 0.5]
    assert verdict(best("a"), ours=[0.6, 0.7, 0.8], a=other).verdict == OPEN
    found = verdict(best("a"), ours=[0.7, 0.8, 0.9], a=other)
    assert (found.verdict, found.dataset, found.subject) == (HOLDS, "toy", "ours")
    assert found.because == "against a: +0.3000 (+0.0516 to +0.5484)"
    found = verdict(best("a"), ours=[0.1, 0.2, 0.3], a=other)
    assert (found.verdict, found.because) == (FAILS, "against a: -0.3000 (-0.5484 to -0.0516)")


def test_lower_is_better_where_it_is() -> None:
    other = [0.5, 0.5, 0.5]
    found = verdict(best("a", metric="delta_cf"), ours=[0.1, 0.2, 0.3], a=other)
    # What is told is the difference itself, ours less theirs.
    assert (found.verdict, found.because) == (HOLDS, "against a: -0.3000 (-0.5484 to -0.0516)")
    found = verdict(best("a", metric="delta_cf"), ours=[0.7, 0.8, 0.9], a=other)
    assert (found.verdict, found.because) == (FAILS, "against a: +0.3000 (+0.0516 to +0.5484)")


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    ours, other = rng.random(10), rng.random(10)
    ends = stats.ttest_rel(ours, other).confidence_interval(0.95)
    mean, low, high = interval(ours - other)
    assert (mean, low, high) == pytest.approx((ours.mean() - other.mean(), ends.low, ends.high))
    ends = stats.ttest_rel(ours, other).confidence_interval(0.8)
    assert interval(ours - other, 0.8)[1:] == pytest.approx((ends.low, ends.high))
    because = verdict(best("a"), ours=[*ours], a=[*other]).because
    paired = stats.ttest_rel(ours, other).confidence_interval(0.95)
    assert figures(because) == pytest.approx([mean, paired.low, paired.high], abs=6e-5)


def test_seeds_are_paired_and_not_pooled() -> None:
    # The splits differ much, the methods by little: only seed by seed is that to be seen.
    ours, other = [0.51, 0.72, 0.93], [0.50, 0.70, 0.90]
    assert stats.ttest_ind(ours, other).pvalue > 0.5
    assert verdict(best("a"), ours=ours, a=other).verdict == OPEN
    ours = [0.520, 0.721, 0.919]
    assert stats.ttest_ind(ours, other).pvalue > 0.5
    assert verdict(best("a"), ours=ours, a=other).verdict == HOLDS


def test_it_must_be_better_than_each_and_the_hardest_is_named() -> None:
    ours, one, two = [0.7, 0.8, 0.9], [0.5, 0.5, 0.5], [0.6, 0.6, 0.6]
    found = verdict(best("a", "b"), ours=ours, a=one, b=two)
    assert found.verdict == OPEN
    assert found.because.startswith("against b: +0.2000 ")
    found = verdict(best("a", "b"), ours=ours, a=one, b=one)
    assert found.verdict == HOLDS


def test_the_level_is_shared_among_all_before_it_is_said_not_to_hold() -> None:
    # One comparison of five that a level of 95 % would call worse, and one of 99 % would not.
    worse = np.array([-0.1, -0.2, -0.35])
    one, shared = interval(worse), interval(worse, 1 - 0.05 / 5)
    assert one[2] > 0
    worse = worse - one[2] - 0.001
    assert interval(worse)[2] < 0 < interval(worse, 1 - 0.05 / 5)[2]
    assert shared[2] > one[2]
    ours = [*(worse + 0.6)]
    base = {"ours": ours, "a": [0.6] * 3}
    assert verdict(best("a"), **base).verdict == FAILS
    others = {name: [value - 0.01 for value in ours] for name in "bcde"}
    found = verdict(best(*"abcde"), **base, **others)
    assert found.verdict == OPEN
    assert found.because.startswith("against a")
    assert figures(found.because)[2] < 0, "what is told is the plain interval"


def test_comparable_allows_a_published_deviation() -> None:
    # Worse by 0.02 in each seed: less than 0.03, more than 0.01.
    ours, other = [0.58, 0.68, 0.78], [0.6, 0.7, 0.8]
    claim = best("a", test="comparable")
    for std, expected in ((0.03, HOLDS), (0.01, FAILS)):
        found = verdict(claim, told(ours=(0.7, std), a=(0.7, 0.1)), ours=ours, a=other)
        assert found.verdict == expected
        # The difference is told as it is, without the margin.
        assert figures(found.because) == [-0.02, -0.02, -0.02]
    assert verdict(best("a"), ours=ours, a=other).verdict == FAILS
    found = verdict(claim, told(a=(0.7, 0.1)), ours=ours, a=other)
    assert (found.verdict, found.because) == (OPEN, "no published deviation")


def test_comparable_where_lower_is_better() -> None:
    ours, other = [0.12, 0.22, 0.32], [0.1, 0.2, 0.3]
    claim = best("a", test="comparable", metric="r2")
    for std, expected in ((0.03, HOLDS), (0.01, FAILS)):
        published = told("r2", ours=(0.22, std), a=(0.2, 0.1))
        found = verdict(claim, published, ours=ours, a=other)
        assert found.verdict == expected
        assert figures(found.because) == [0.02, 0.02, 0.02]
        assert found.in_paper == (expected == HOLDS)


def test_too_little_is_open() -> None:
    good, bad = [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]
    few = verdict(best("a"), ours=good[:2], a=bad[:2])
    assert (few.verdict, few.because) == (OPEN, "fewer than 3 seeds")
    undefined = verdict(best("a"), ours=[0.9, 0.9, math.nan], a=bad)
    assert (undefined.verdict, undefined.because) == (OPEN, "fewer than 3 seeds")
    # Three seeds each, but only two of both.
    apart = verdict(best("a"), ours=[*good, math.nan], a=[math.nan, *bad])
    assert (apart.verdict, apart.because) == (OPEN, "fewer than 3 seeds")
    for missing in ({"ours": good}, {"a": bad}, {"a": bad, "b": bad}, {"ours": good, "b": bad}):
        found = verdict(best("a", "b"), **missing)
        assert (found.verdict, found.because) == (OPEN, "runs are missing")


def test_seeds_that_only_one_has_do_not_count() -> None:
    found = verdict(best("a"), ours=[0.7, 0.8, 0.9, 0.0], a=[0.5, 0.5, 0.5])
    assert (found.verdict, found.because) == (HOLDS, "against a: +0.3000 (+0.0516 to +0.5484)")


def test_equal_values_have_no_spread() -> None:
    same = [0.5, 0.5, 0.5]
    found = verdict(best("a"), ours=same, a=same)
    assert (found.verdict, figures(found.because)) == (OPEN, [0, 0, 0])
    assert verdict(best("a"), ours=[0.75] * 3, a=same).verdict == HOLDS
    assert verdict(best("a"), ours=[0.25] * 3, a=same).verdict == FAILS
    assert interval(np.full(4, 0.5)) == (0.5, 0.5, 0.5)


def test_what_the_papers_own_means_say() -> None:
    same = {"ours": [0.5] * 3, "a": [0.5] * 3, "b": [0.5] * 3}
    for mean, expected in ((0.8, True), (0.7, False), (0.6, False)):
        published = told(ours=(mean, 0.02), a=(0.7, 0.1), b=(0.6, 0.1))
        assert verdict(best("a", "b"), published, **same).in_paper is expected
    for mean, expected in ((0.69, True), (0.68, True), (0.67, False)):
        published = told(ours=(mean, 0.025), a=(0.7, 0.1), b=(0.6, 0.1))
        found = verdict(best("a", "b", test="comparable"), published, **same)
        assert found.in_paper is expected, mean
    assert verdict(best("a", "b"), told(ours=(0.8, 0.1), a=(0.7, 0.1)), **same).in_paper is None
    # The paper has δCF as its code measures it and not as its text defines it.
    strict = told("delta_cf", ours=(0.8, 0.1), a=(0.7, 0.1), b=(0.6, 0.1))
    assert verdict(best("a", "b", metric="delta_cf"), strict, **same).in_paper is None


def test_one_verdict_for_each_dataset_subject_and_metric() -> None:
    claim = Claim("better", "best", ("auroc", "r2"), ("ours", "x"), ("a",))
    values = {"ours": [0.9] * 3, "x": [0.1] * 3, "a": [0.5] * 3}
    both = [rows(values, "auroc", "r2", dataset=name) for name in ("second", "first")]
    found = list(claim_verdicts(claim, pd.concat(both), NOTHING))
    assert [(one.dataset, one.subject, one.metric, one.verdict) for one in found] == [
        (dataset, subject, metric, HOLDS if (subject == "ours") == (metric == "auroc") else FAILS)
        for dataset in ("second", "first")
        for subject in ("ours", "x")
        for metric in ("auroc", "r2")
    ]
    table = frame(found)
    assert list(table.columns) == [
        "claim",
        "dataset",
        "subject",
        "metric",
        "verdict",
        "because",
        "in_paper",
    ]
    assert len(table) == 8
    assert list(frame([]).columns) == list(table.columns)


Seeds = st.lists(st.floats(0, 1), min_size=3, max_size=6)
Lines = Seeds.flatmap(
    lambda one: st.lists(
        st.lists(st.floats(0, 1), min_size=len(one), max_size=len(one)), min_size=2, max_size=4
    ).map(lambda others: {"ours": one} | {f"m{i}": other for i, other in enumerate(others)})
)


@settings(max_examples=40)
@given(values=Lines, data=st.data(), metric=st.sampled_from(["auroc", "r2"]))
def test_the_order_of_seeds_and_lines_changes_nothing(
    values: dict[str, list[float]], data: Any, metric: str
) -> None:
    others = [name for name in values if name != "ours"]
    before = verdict(best(*others, metric=metric), **values)
    order = data.draw(st.permutations(range(len(values["ours"]))))
    shuffled = {name: [found[i] for i in order] for name, found in values.items()}
    lines = data.draw(st.permutations(list(values)))
    after = verdict(
        best(*(name for name in lines if name != "ours"), metric=metric),
        **{name: shuffled[name] for name in lines},
    )
    close = [
        end
        for name in others
        for level in (0.95, 1 - 0.05 / len(others))
        for end in interval(np.subtract(values["ours"], values[name]), level)[1:]
    ]
    # Sums in another order differ in their last digits.
    assume(min(map(abs, close)) > 1e-12)
    assert after.verdict == before.verdict


@settings(max_examples=40)
@given(values=Lines, metric=st.sampled_from(["auroc", "r2"]))
def test_far_enough_ahead_holds_and_far_enough_behind_does_not(
    values: dict[str, list[float]], metric: str
) -> None:
    others = [name for name in values if name != "ours"]
    sign = 1 if metric == "auroc" else -1
    # Differences within [−1, 1] have no interval wider than this, at a quarter of the level too.
    reach = 1 + 2 * float(stats.t.ppf(1 - 0.05 / 8, 2))
    for step, expected in ((reach, HOLDS), (-reach, FAILS)):
        moved = values | {"ours": [value + sign * step for value in values["ours"]]}
        assert verdict(best(*others, metric=metric), **moved).verdict == expected


@settings(max_examples=40)
@given(values=Lines, metric=st.sampled_from(["auroc", "r2"]))
def test_each_verdict_is_what_scipys_tests_say(values: dict[str, list[float]], metric: str) -> None:
    others = [name for name in values if name != "ours"]
    gains = [np.subtract(values["ours"], values[name]) for name in others]
    gains = [gain if metric == "auroc" else -gain for gain in gains]
    assume(all(gain.std() > 1e-6 for gain in gains))
    better = [float(stats.ttest_1samp(gain, 0, alternative="greater").pvalue) for gain in gains]
    worse = [float(stats.ttest_1samp(gain, 0, alternative="less").pvalue) for gain in gains]
    assume(all(abs(p - 0.025) > 1e-9 for p in better))
    assume(all(abs(p * len(gains) - 0.025) > 1e-9 for p in worse))
    expected = OPEN
    if max(better) < 0.025:
        expected = HOLDS
    elif min(worse) * len(gains) < 0.025:
        expected = FAILS
    assert verdict(best(*others, metric=metric), **values).verdict == expected


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


def bent(found: pd.DataFrame, levels_off: float | None = None) -> Verdict:
    (one,) = trend_verdicts(Trend("falls", "k", ("r2",), levels_off), found)
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
    assert figures(found.because)[1] == pytest.approx(mean - reach, abs=6e-3)


def test_a_curve_that_levels_off_by_hand() -> None:
    x = [5.0, 10.0, 20.0, 30.0]
    # Slopes −0.02 up to 20 and −0.001 from there; the other way round; the same all along.
    bends = [0.40, 0.30, 0.10, 0.09]
    drops = [0.40, 0.395, 0.385, 0.185]
    found = bent(curves(x, bends, bends, bends), 20)
    assert (found.verdict, found.because) == (
        HOLDS,
        "slope before less after = -0.019 (-0.019 to -0.019)",
    )
    assert bent(curves(x, drops, drops, drops), 20).verdict == FAILS
    assert bent(curves(x, bends, drops, bends), 20).verdict == OPEN


def test_slopes_are_least_squares() -> None:
    x = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
    seeds = np.random.default_rng(3).random((5, 6))
    found = bent(curves(x, *(list(seed) for seed in seeds)), 20)
    steps = [
        stats.linregress(x[:4], seed[:4]).slope - stats.linregress(x[3:], seed[3:]).slope
        for seed in seeds
    ]
    ends = stats.ttest_1samp(steps, 0).confidence_interval()
    expected = f"{np.mean(steps):+.3g} ({ends.low:+.3g} to {ends.high:+.3g})"
    assert found.because == f"slope before less after = {expected}"


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
    assert list(trend_verdicts(Trend("falls", "λ", ("r2",)), mixed)) == []

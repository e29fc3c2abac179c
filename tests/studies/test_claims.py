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

from fairgear.studies import claims
from fairgear.studies.claims import (
    FAILS,
    FEW,
    HOLDS,
    LEAST_SEEDS,
    OPEN,
    Claim,
    Verdict,
    claim_verdicts,
    count_table,
    verdict_frame,
)
from fairgear.studies.tables import interval
from tests.studies.toy import rows

NOTHING = pd.DataFrame(columns=["dataset", "line", "metric", "published", "published_std"])


@pytest.fixture(autouse=True)
def three_seeds_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures by hand are easier with three."""
    monkeypatch.setattr(claims, "LEAST_SEEDS", 3)


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
    assert found.because == "against a: +0.3000 (+0.0516 to +0.5484, 3 seeds)"
    found = verdict(best("a"), ours=[0.1, 0.2, 0.3], a=other)
    assert (found.verdict, found.because) == (
        FAILS,
        "against a: -0.3000 (-0.5484 to -0.0516, 3 seeds)",
    )


def test_lower_is_better_where_it_is() -> None:
    other = [0.5, 0.5, 0.5]
    found = verdict(best("a", metric="delta_cf"), ours=[0.1, 0.2, 0.3], a=other)
    # What is told is the difference itself, ours less theirs.
    assert (found.verdict, found.because) == (
        HOLDS,
        "against a: -0.3000 (-0.5484 to -0.0516, 3 seeds)",
    )
    found = verdict(best("a", metric="delta_cf"), ours=[0.7, 0.8, 0.9], a=other)
    assert (found.verdict, found.because) == (
        FAILS,
        "against a: +0.3000 (+0.0516 to +0.5484, 3 seeds)",
    )


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
        assert figures(found.because) == [-0.02, -0.02, -0.02, -std]
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
        assert figures(found.because) == [0.02, 0.02, 0.02, std]
        assert found.in_paper == (expected == HOLDS)


def test_too_little_is_open() -> None:
    good, bad = [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]
    few = verdict(best("a"), ours=good[:2], a=bad[:2])
    assert (few.verdict, few.because) == (OPEN, FEW)
    undefined = verdict(best("a"), ours=[0.9, 0.9, math.nan], a=bad)
    assert (undefined.verdict, undefined.because) == (OPEN, "undefined in 1 of 3 seeds")
    # Three seeds each, but only two of both.
    apart = verdict(best("a"), ours=[*good, math.nan], a=[math.nan, *bad])
    assert (apart.verdict, apart.because) == (OPEN, "undefined in 2 of 4 seeds")
    for missing in ({"ours": good}, {"a": bad}, {"a": bad, "b": bad}, {"ours": good, "b": bad}):
        found = verdict(best("a", "b"), **missing)
        assert (found.verdict, found.because) == (OPEN, "runs are missing")


def test_five_seeds_are_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEAST_SEEDS", LEAST_SEEDS)
    for count, expected in ((4, OPEN), (5, HOLDS)):
        found = verdict(best("a"), ours=[0.9] * count, a=[0.1] * count)
        assert found.verdict == expected


def test_what_decides_is_what_is_told() -> None:
    # One that differs wildly, and one that is surely better: the second refuses the claim.
    ours = [0.5, 0.5, 0.5]
    found = verdict(best("a", "b"), ours=ours, a=[0.2, 0.5, 0.98], b=[0.51, 0.51, 0.51])
    assert found.verdict == FAILS
    assert found.because.startswith("against b: -0.0100 (-0.0100 to -0.0100, 3 seeds)")
    # Surely better than one by little, better than the other on the whole: that one is in doubt.
    found = verdict(best("a", "b"), ours=ours, a=[0.49, 0.49, 0.49], b=[0.1, 0.2, 0.6])
    assert found.verdict == OPEN
    assert found.because.startswith("against b: +0.2000")


def test_counts_by_claim() -> None:
    found = [Verdict("c", "d", "s", "auroc", one, "") for one in (HOLDS, HOLDS, FAILS)]
    assert "| c | s | 2 | 1 | 0 |" in count_table(found)


def test_an_unknown_test_is_no_claim() -> None:
    plan = {"claim": "c", "test": "nearly", "metrics": ["auroc"], "subjects": [], "against": "g"}
    with pytest.raises(ValueError, match="nearly"):
        Claim.read(plan, {"g": ("a",)})


def test_seeds_that_only_one_has_do_not_count() -> None:
    found = verdict(best("a"), ours=[0.7, 0.8, 0.9, 0.0], a=[0.5, 0.5, 0.5])
    assert (found.verdict, found.because) == (
        HOLDS,
        "against a: +0.3000 (+0.0516 to +0.5484, 3 seeds)",
    )


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
    table = verdict_frame(found)
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
    assert list(verdict_frame([]).columns) == list(table.columns)


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

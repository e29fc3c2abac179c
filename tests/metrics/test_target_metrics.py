"""Measures of several classes and of numbers, against scikit-learn and the binary measures."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)

from benchmarks import target_coverage
from fairgear.errors import FairgearError
from fairgear.graph import Target
from fairgear.graph.targets import BINARY
from fairgear.metrics import (
    auroc,
    between_worlds,
    delta_dp,
    delta_eo,
    evaluate_predictions,
    flips,
    largest_estimate,
    over_rates,
    r2,
    rate_interval,
)
from fairgear.metrics.classes import (
    class_rates,
    largest_gap,
    least_ratio,
    macro_auroc,
    macro_f1,
)
from fairgear.metrics.disagreement import Disagreement, of_answer
from fairgear.metrics.numbers import (
    adjusted,
    explained_share,
    mae,
    mean_gap,
    prediction_r2,
    rmse,
)
from fairgear.metrics.target_estimates import Sample, class_estimates

SEVERAL = Target("multiclass", ("a", "b", "c", "d"))
NUMBERS = Target("regression", (), 1.0, 2.0)


def people(seed: int, classes: int = 4, n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(classes), n)
    y = np.array([rng.choice(classes, p=row) for row in scores])
    return {
        "y": y,
        "scores": scores,
        "pred": scores.argmax(axis=1),
        "group": rng.integers(0, 2, n),
        "summary": rng.random(n),
        "clusters": rng.integers(0, 40, n),
    }


@given(seed=st.integers(0, 1000))
def test_several_classes_against_scikit_learn(seed: int) -> None:
    one = people(seed)
    expected = roc_auc_score(one["y"], one["scores"], multi_class="ovr", average="macro")
    assert macro_auroc(one["y"], one["scores"]) == pytest.approx(expected, abs=1e-12)
    expected = f1_score(one["y"], one["pred"], average="macro")
    assert macro_f1(one["y"], one["pred"]) == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 1000))
def test_numbers_against_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, pred = rng.normal(size=(2, 50))
    assert mae(y, pred) == pytest.approx(mean_absolute_error(y, pred))
    assert rmse(y, pred) == pytest.approx(np.sqrt(mean_squared_error(y, pred)))
    assert prediction_r2(y, pred) == pytest.approx(r2_score(y, pred))


@given(seed=st.integers(0, 1000))
def test_two_classes_give_the_binary_measures_to_the_bit(seed: int) -> None:
    one = people(seed, classes=2)
    y, pred, group = one["y"], one["pred"], one["group"]
    chosen = class_rates(pred, sensitive_features=group, classes=2)
    told = class_rates(pred, sensitive_features=group, classes=2, y=y)
    assert largest_gap(chosen)[0] == delta_dp(pred, sensitive_features=group)
    assert largest_gap(told)[0] == delta_eo(y, pred, sensitive_features=group)
    assert macro_auroc(y, one["scores"]) == auroc(y, one["scores"][:, 1])
    expected = r2(pred, one["summary"])
    assert explained_share(np.eye(2)[pred], one["summary"]) == pytest.approx(expected, abs=1e-12)
    assert explained_share(pred.astype(float), one["summary"]) == pytest.approx(expected, abs=1e-12)


def test_intervals_of_two_classes_are_the_binary_ones() -> None:
    one = people(3, classes=2)
    two = Sample(
        one["y"],
        one["scores"],
        one["pred"],
        one["group"],
        one["summary"],
        one["clusters"],
        Target(),
    )
    found = class_estimates(two)
    known = evaluate_predictions(
        one["y"],
        one["scores"][:, 1],
        one["pred"],
        sensitive_features=one["group"],
        summary=one["summary"],
        clusters=one["clusters"],
    )
    for name in ("accuracy", "auroc", "delta_eo", "delta_dp"):
        assert (found[name].value, found[name].interval) == (
            known[name].value,
            known[name].interval,
        )
    assert tuple(found["r2"].interval) == pytest.approx(tuple(known["r2"].interval), abs=0.002)


@given(seed=st.integers(0, 1000))
def test_gaps_and_ratios_by_brute_force(seed: int) -> None:
    one = people(seed)
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, len(one["y"]))
    rates = class_rates(one["pred"], sensitive_features=group, classes=4)
    every = [[(one["pred"][group == g] == c).mean() for c in range(4)] for g in range(3)]
    gaps = [abs(a[c] - b[c]) for a, b in combinations(every, 2) for c in range(4)]
    assert largest_gap(rates)[0] == pytest.approx(max(gaps), abs=1e-12)
    ratios = [min(row[c] for row in every) / max(row[c] for row in every) for c in range(4)]
    assert least_ratio(rates) == pytest.approx(min(ratios), abs=1e-12)


@given(seed=st.integers(0, 1000), width=st.integers(1, 3))
def test_the_explained_share_is_that_of_least_squares(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    y, x = rng.normal(size=(40, 3)), rng.normal(size=(40, width))
    fit = LinearRegression().fit(x, y)
    expected = r2_score(y, fit.predict(x), multioutput="variance_weighted")
    assert explained_share(y, x) == pytest.approx(expected, abs=1e-10)
    assert adjusted(expected, 40, width) == pytest.approx(1 - (1 - expected) * 39 / (39 - width))


def test_means_of_groups() -> None:
    values, group = np.array([1.0, 3.0, 2.0, 8.0]), [0, 0, 1, 2]
    assert mean_gap(values, sensitive_features=group, unit=2.0) == 3.0


def test_which_answers_differ() -> None:
    classes, numbers = Disagreement(SEVERAL), Disagreement(NUMBERS)
    found = flips([0, 1, 2, 3], [[0, 2, 2, 0]], classes)
    assert found.rate == 0.5
    assert np.isnan(found.gains)
    # A tenth of the standard deviation of 2.
    found = flips([0.0, 0.0, 0.0, 0.0], [[0.19, 0.21, -0.21, 0.0]], numbers)
    assert (found.rate, found.gains, found.losses) == (0.5, 0.25, 0.25)
    assert over_rates([1, 2], {0.0: [2, 2], 1.0: [1, 1]}, classes).rate == 0.5
    assert between_worlds({0: [1, 2], 1: [1, 3]}, classes).rate == 0.5


@given(seed=st.integers(0, 1000))
def test_the_distance_of_scores_of_two_classes_is_their_difference(seed: int) -> None:
    first, second = np.random.default_rng(seed).dirichlet([1, 1], (2, 20))
    two = Disagreement(Target("multiclass", ("a", "b", "c")))
    assert two.moves(first, second) == pytest.approx(np.abs(second - first)[:, 1])
    assert Disagreement(NUMBERS).moves(np.array([1.0]), np.array([4.0])).tolist() == [1.5]
    assert of_answer(first, np.ones(20, dtype=int)).tolist() == first[:, 1].tolist()


@pytest.mark.parametrize("target", [target_coverage.SEVERAL, target_coverage.NUMBERS, BINARY])
def test_intervals_cover(target: Target) -> None:
    """30 samples of a known law: where 95 % cover, fewer than 25 do once in 1,000 times."""
    covered = target_coverage.coverage(target, 30)
    assert len(covered) >= 6
    assert min(covered.values()) >= 25 / 30, covered


def test_the_interval_of_the_largest_world_covers() -> None:
    """Where 95 % cover, fewer than 85 of 100 do once in 10,000 times."""
    assert target_coverage.coverage_of_the_largest(100) >= 0.85


def test_the_largest_world_has_ends_of_all_worlds_at_once() -> None:
    found, clusters = target_coverage.worlds(0)
    each = [
        rate_interval(one.by_node, clusters, level=1 - 0.05 / 6) for one in found.by_world.values()
    ]
    largest = largest_estimate(found, clusters)
    assert largest.value == max(one.rate for one in found.by_world.values())
    assert tuple(largest.interval) == (max(e.low for e in each), max(e.high for e in each))


def test_refusals() -> None:
    with pytest.raises(FairgearError, match="whole numbers from 0"):
        macro_f1([0, 1.5], [0, 1])
    with pytest.raises(FairgearError, match="finite scores"):
        macro_auroc([0, 1], np.array([0.2, 0.4]))

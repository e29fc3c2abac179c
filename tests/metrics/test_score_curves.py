"""Curves of scores against scikit-learn, NumPy and loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import auc, roc_auc_score, roc_curve

from fairgear.metrics.score_curves import (
    MOST_POINTS,
    PARTS,
    calibration,
    histogram,
    histogram_range,
    roc,
)


def _people(n: int, seed: int, decimals: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n).round(decimals)
    return (rng.random(n) < scores).astype(np.int64), scores


@given(st.integers(2, 60), st.integers(0, 10**6))
def test_few_thresholds_are_all_kept(n: int, seed: int) -> None:
    y, scores = _people(n, seed)
    found = roc(y, scores)
    if y.min() == y.max():
        assert found is None
        return
    assert found is not None
    false, true, _ = roc_curve(y, scores, drop_intermediate=False)
    assert found.false_positives == pytest.approx(false.tolist())
    assert found.true_positives == pytest.approx(true.tolist())


@given(st.integers(300, 3000), st.integers(0, 10**6))
def test_a_thinned_curve_lies_on_the_whole_one(n: int, seed: int) -> None:
    y, scores = _people(n, seed, decimals=6)
    found = roc(y, scores)
    assert found is not None
    points = list(zip(found.false_positives, found.true_positives, strict=True))
    assert len(points) <= MOST_POINTS
    assert (points[0], points[-1]) == ((0, 0), (1, 1))
    false, true, _ = roc_curve(y, scores, drop_intermediate=False)
    assert {(round(a, 9), round(b, 9)) for a, b in points} <= {
        (round(a, 9), round(b, 9)) for a, b in zip(false, true, strict=True)
    }
    area = auc(found.false_positives, found.true_positives)
    assert area == pytest.approx(roc_auc_score(y, scores), abs=0.01)


@given(st.integers(100, 2000), st.integers(0, 10**6))
def test_calibration_is_that_of_scikit_learn(n: int, seed: int) -> None:
    y, scores = _people(n, seed)
    found = calibration(y, scores)
    shares, means = calibration_curve(y, scores, n_bins=10, strategy="quantile")
    assert found.shares == pytest.approx(shares.tolist())
    assert found.scores == pytest.approx(means.tolist())
    assert sum(found.people) == n
    apart = [
        count * abs(share - mean)
        for count, share, mean in zip(found.people, shares, means, strict=True)
    ]
    assert found.error == pytest.approx(sum(apart) / n)


def test_few_people_have_few_bins_and_equal_scores_one() -> None:
    y, scores = _people(25, 0, decimals=6)
    assert len(calibration(y, scores).people) == 2
    assert len(calibration(y[:3], scores[:3]).people) == 1
    same = calibration(np.arange(200) % 2, np.full(200, 0.25))
    assert (same.people, same.scores, same.shares) == ((200,), (0.25,), (0.5,))
    assert same.error == 0.25


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=80), st.floats(-6, 0), st.floats(0.5, 6))
def test_a_histogram_counts_everybody(values: list[float], low: float, high: float) -> None:
    found = histogram(np.array(values), low, high)
    counts = [0] * PARTS
    for value in values:
        place = int((value - low) / (high - low) * PARTS // 1)
        counts[min(max(place, 0), PARTS - 1)] += 1
    assert found.shares == pytest.approx([count / len(values) for count in counts])
    assert sum(found.shares) == pytest.approx(1)


def test_the_range_is_that_of_probabilities_or_of_nearly_all_values() -> None:
    assert histogram_range(np.array([0.2, 0.9])) == (0, 1)
    assert histogram_range(np.full(4, 7.0)) == (6.5, 7.5)
    values = np.append(np.random.default_rng(0).normal(size=10_000), 1e6)
    low, high = histogram_range(values)
    assert (low, high) == tuple(np.quantile(values, [0.005, 0.995]))
    assert high < 4

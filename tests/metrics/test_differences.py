from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fairgear.errors import UndefinedMetricWarning
from fairgear.metrics import (
    UNDEFINED,
    Estimate,
    Interval,
    PairedPredictions,
    auroc,
    delta_dp,
    difference_intervals,
    evaluate_predictions,
    f1,
    r2,
)
from fairgear.metrics.intervals import (
    multiplicities,
    resampled_auroc,
    resampled_correlation,
    resampled_f1,
    resampled_gap,
)
from fairgear.metrics.rates import combined_interval


def two_models(n: int, *, noise: float, seed: int = 0) -> PairedPredictions:
    """Two models on the same people in communities of ten, the second the noisier."""
    rng = np.random.default_rng(seed)
    clusters = np.arange(n) // 10
    sens, summary = rng.integers(0, 2, n), rng.random(n)
    truth = rng.random(n)
    scores = truth + 0.1 * sens, truth + 0.1 * sens + noise * rng.normal(size=n)
    y = (truth + 0.2 * rng.normal(size=n) > 0.5).astype(np.int64)
    first, second = ((s > 0.55).astype(np.int64) for s in scores)
    return PairedPredictions(y, sens, summary, clusters, scores, (first, second))


def estimates(pair: PairedPredictions, model: int) -> dict[str, Estimate]:
    return evaluate_predictions(
        pair.y,
        pair.scores[model],
        pair.labels[model],
        sensitive_features=pair.sens,
        summary=pair.summary,
        clusters=pair.clusters,
    )


def differences(pair: PairedPredictions, **settings: Any) -> dict[str, Interval]:
    return difference_intervals(pair, estimates(pair, 0), estimates(pair, 1), **settings)


def test_resampled_measures_are_those_of_repeated_people() -> None:
    pair = two_models(120, noise=0.3, seed=4)
    weights = multiplicities(pair.clusters, draws=5, seed=0)
    y, pred, scores, sens = pair.y, pair.labels[0], pair.scores[0], pair.sens
    drawn = {
        "f1": resampled_f1(y, pred, pair.clusters, weights),
        "auroc": resampled_auroc(y, scores, pair.clusters, weights),
        "gap": np.abs(resampled_gap(pred.astype(np.float64), sens, pair.clusters, weights)),
        "r2": resampled_correlation(pred, pair.summary, pair.clusters, weights) ** 2,
    }
    for i, weight in enumerate(weights):
        again = np.repeat(np.arange(120), weight[pair.clusters].astype(int))
        assert drawn["f1"][i] == pytest.approx(f1(y[again], pred[again]))
        assert drawn["auroc"][i] == pytest.approx(auroc(y[again], scores[again]))
        gap = delta_dp(pred[again], sensitive_features=sens[again])
        assert drawn["gap"][i] == pytest.approx(gap)
        assert drawn["r2"][i] == pytest.approx(r2(pred[again], pair.summary[again]))


def test_resamples_without_a_value_have_none() -> None:
    clusters = np.array([0, 0, 1, 1])
    bits = np.array([1, 1, 0, 0])
    only_second = np.array([[0.0, 2.0]])
    assert np.isnan(resampled_f1(bits, bits, clusters, only_second)).all()
    assert np.isnan(resampled_gap(bits * 1.0, bits, clusters, only_second)).all()
    assert np.isnan(resampled_correlation(bits, bits * 1.0, clusters, only_second)).all()


def test_differences_turn_with_the_models() -> None:
    pair = two_models(1500, noise=0.3)
    turned = PairedPredictions(
        pair.y,
        pair.sens,
        pair.summary,
        pair.clusters,
        (pair.scores[1], pair.scores[0]),
        (pair.labels[1], pair.labels[0]),
    )
    there, back = differences(pair), differences(turned)
    assert set(there) == {"accuracy", "f1", "auroc", "delta_eo", "delta_dp", "r2"}
    one, other = estimates(pair, 0), estimates(pair, 1)
    for key, interval in there.items():
        assert one[key].value - other[key].value in interval
        assert (-back[key].high, -back[key].low) == pytest.approx(tuple(interval), abs=1e-9)
    assert there["auroc"].low > 0


def test_knowing_that_the_people_are_the_same_makes_differences_sharper() -> None:
    pair = two_models(3000, noise=0.1)
    one, other = estimates(pair, 0), estimates(pair, 1)
    for key, interval in differences(pair).items():
        apart = combined_interval(
            one[key].value, one[key].interval, other[key].value, other[key].interval
        )
        assert interval.high - interval.low < 0.8 * (apart.high - apart.low), key


def test_models_that_never_differ_are_not_shown_to_be_equal() -> None:
    pair = two_models(600, noise=0.0)
    for key, interval in differences(pair).items():
        assert interval.low < -0.005, key
        assert interval.high > 0.005, key


def test_a_perfect_ranking_is_not_certain() -> None:
    pair = two_models(600, noise=0.0)
    perfect = pair.y + 0.1 * pair.scores[0]
    pair = PairedPredictions(
        pair.y, pair.sens, pair.summary, pair.clusters, (perfect, perfect**2), pair.labels
    )
    low, high = differences(pair)["auroc"]
    assert low < -0.02 < 0.02 < high


def test_gaps_that_err_together_do_not_hide_behind_their_absolute_values() -> None:
    """Both gaps may be of the other sign, and the larger one is then the smaller."""
    rng = np.random.default_rng(11)
    n = 1000
    clusters, sens = np.arange(n) // 10, rng.integers(0, 2, n)
    second = rng.random(n) < 0.5
    first = second | ((rng.random(n) < 0.15) & (sens == 1)) | (rng.random(n) < 0.1)
    labels = first.astype(np.int64), second.astype(np.int64)
    scores = rng.random(n), rng.random(n)
    pair = PairedPredictions(labels[0], sens, rng.random(n), clusters, scores, labels)
    one, other = estimates(pair, 0)["delta_dp"], estimates(pair, 1)["delta_dp"]
    assert one.signed > other.signed > 0
    # The gaps differ beyond doubt, their sizes do not.
    shift = one.signed - other.signed
    low, high = differences(pair)["delta_dp"]
    assert low < -shift / 2
    assert shift < high < 2 * shift


def test_unknown_labels_count_where_no_label_is_needed() -> None:
    pair = two_models(800, noise=0.3)
    y = np.where(np.arange(800) % 2, -1, pair.y)
    hidden = PairedPredictions(y, pair.sens, pair.summary, pair.clusters, pair.scores, pair.labels)
    one, other = estimates(pair, 0), estimates(pair, 1)
    some = difference_intervals(hidden, one, other)
    every = difference_intervals(pair, one, other)
    assert (some["delta_dp"], some["r2"]) == (every["delta_dp"], every["r2"])
    assert (
        some["accuracy"].high - some["accuracy"].low
        > every["accuracy"].high - every["accuracy"].low
    )
    nobody = PairedPredictions(
        y * 0 - 1, pair.sens, pair.summary, pair.clusters, pair.scores, pair.labels
    )
    nothing = {key: Estimate(math.nan, UNDEFINED) for key in ("f1", "auroc", "delta_eo")}
    blind = difference_intervals(nobody, one | nothing, other | nothing)
    assert [key for key, ends in blind.items() if ends.defined] == ["delta_dp", "r2"]


def test_a_measure_that_one_model_lacks() -> None:
    pair = two_models(400, noise=0.3)
    constant = np.ones(400, dtype=np.int64)
    pair = PairedPredictions(
        pair.y,
        pair.sens,
        pair.summary,
        pair.clusters,
        (pair.scores[0], np.full(400, 0.9)),
        (pair.labels[0], constant),
    )
    with pytest.warns(UndefinedMetricWarning, match="R²"):
        other = estimates(pair, 1)
    intervals = difference_intervals(pair, estimates(pair, 0), other)
    assert not intervals["r2"].defined
    assert intervals["auroc"].low > 0.1


def test_the_resamples_follow_the_seed() -> None:
    pair = two_models(400, noise=0.3)
    once = differences(pair, draws=50)
    assert differences(pair, draws=50) == once
    assert differences(pair, draws=50, seed=1)["f1"] != once["f1"]

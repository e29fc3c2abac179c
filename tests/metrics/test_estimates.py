from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from fairgear.errors import ParameterError, UndefinedMetricWarning
from fairgear.metrics import (
    METRICS,
    accuracy,
    auroc,
    evaluate_predictions,
    f1,
    flip_estimate,
    flips,
    over_rates,
    r2,
    rate_interval,
)


def inputs(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return {
        "y": (rng.random(n) < scores).astype(int),
        "scores": scores,
        "pred": (scores > 0.5).astype(int),
        "sensitive_features": rng.integers(0, 2, n),
        "summary": rng.random(n),
        "clusters": rng.integers(0, max(n // 20, 2), n),
    }


def test_values_are_those_of_the_measures_and_lie_in_their_intervals() -> None:
    given = inputs(1000)
    result = evaluate_predictions(**given)
    assert set(result) == {"accuracy", "f1", "auroc", "delta_eo", "delta_dp", "r2"}
    assert result["accuracy"].value == accuracy(given["y"], given["pred"])
    assert result["f1"].value == f1(given["y"], given["pred"])
    assert result["auroc"].value == auroc(given["y"], given["scores"])
    assert result["r2"].value == r2(given["pred"], given["summary"])
    for name, estimate in result.items():
        assert estimate.value in estimate.interval
        assert METRICS[name].low <= estimate.interval.low
        assert estimate.interval.high <= METRICS[name].high
    for name in ("delta_dp", "delta_eo"):
        estimate = result[name]
        assert estimate.value == abs(estimate.signed)
        assert estimate.interval == estimate.signed_interval.absolute()
    assert result["r2"].signed ** 2 == pytest.approx(result["r2"].value)


def test_it_is_reproducible() -> None:
    given = inputs(300)
    first, second = evaluate_predictions(**given), evaluate_predictions(**given)
    assert [(e.value, *e.interval) for e in first.values()] == [
        (e.value, *e.interval) for e in second.values()
    ]


def test_the_sign_of_a_gap_is_group_1_minus_group_0() -> None:
    given = inputs(2000)
    given["pred"] = np.where(given["sensitive_features"] == 1, 0, given["pred"])
    gap = evaluate_predictions(**given)["delta_dp"]
    assert gap.signed < 0 < gap.value
    assert gap.signed_interval.high < 0 < gap.interval.low


def test_perfect_predictions_are_not_certain_to_be_perfect() -> None:
    given = inputs(600)
    given["scores"] = given["y"] + 0.5 * np.random.default_rng(0).random(600)
    given["pred"] = given["y"]
    result = evaluate_predictions(**given)
    for name in ("accuracy", "f1", "auroc"):
        assert result[name].value == result[name].interval.high == 1
        assert 0.7 < result[name].interval.low < 0.99
    # Everybody of class 1 is selected, in both groups.
    assert result["delta_eo"].value == 0
    assert 0.01 < result["delta_eo"].interval.high < 0.3


def test_constant_predictions() -> None:
    given = inputs(200)
    given["pred"], given["scores"] = np.ones(200), np.full(200, 0.9)
    with pytest.warns(UndefinedMetricWarning, match="R²"):
        result = evaluate_predictions(**given)
    assert math.isnan(result["r2"].value)
    assert not result["r2"].interval.defined
    assert (result["auroc"].value, *result["auroc"].interval) == (0.5, 0.5, 0.5)
    assert result["delta_dp"].value == 0


def test_undefined_measures_have_undefined_intervals() -> None:
    given = inputs(200)
    given["y"] = np.zeros(200)
    given["sensitive_features"] = np.zeros(200)
    with pytest.warns(UndefinedMetricWarning):
        result = evaluate_predictions(**given)
    for name in ("auroc", "delta_eo", "delta_dp"):
        assert math.isnan(result[name].value)
        assert not result[name].interval.defined
    assert result["accuracy"].interval.defined


def test_the_error_of_the_draws_is_apart_from_the_interval() -> None:
    rng = np.random.default_rng(0)
    factual, worlds = rng.integers(0, 2, 400), rng.integers(0, 2, (5, 400))
    clusters = np.arange(400) // 8
    measured = flips(factual, worlds)
    estimate = flip_estimate(measured, clusters)
    assert estimate.value == measured.rate
    assert estimate.error == measured.error > 0
    assert estimate.interval == rate_interval(measured.by_node, clusters)
    average = over_rates(factual, {0.0: worlds[0], 0.5: worlds})
    assert flip_estimate(average, clusters).value == average.rate


def test_five_thousand_nodes_take_less_than_a_second() -> None:
    given = inputs(5000)
    evaluate_predictions(**given, draws=2)
    start = time.process_time()
    evaluate_predictions(**given)
    assert time.process_time() - start < 1


def test_bad_input_is_refused() -> None:
    given = inputs(50)
    with pytest.raises(ParameterError, match="predict_proba"):
        evaluate_predictions(**{**given, "scores": given["pred"]})
    with pytest.raises(ParameterError, match="lengths"):
        evaluate_predictions(**{**given, "clusters": np.zeros(49)})
    with pytest.raises(ParameterError, match="lengths"):
        evaluate_predictions(**{**given, "summary": np.zeros(49)})

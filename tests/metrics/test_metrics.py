"""Every metric goes through the same case: its range, its direction, and the order of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import UndefinedMetricWarning, UnknownNameError
from fairgear.metrics import (
    METRICS,
    accuracy,
    auroc,
    between_worlds,
    delta_dp,
    delta_eo,
    f1,
    flips,
    over_rates,
    r2,
)
from fairgear.metrics.inputs import Floats, Integers


@dataclass(frozen=True)
class Case:
    """One set of predictions, factual and in three other worlds."""

    y: Integers
    scores: Floats
    pred: Integers
    sens: Integers
    summary: Floats
    worlds: Integers

    def reordered(self, order: Integers) -> Case:
        return Case(
            y=self.y[order],
            scores=self.scores[order],
            pred=self.pred[order],
            sens=self.sens[order],
            summary=self.summary[order],
            worlds=self.worlds[:, order],
        )


COMPUTE: dict[str, Callable[[Case], float]] = {
    "accuracy": lambda c: accuracy(c.y, c.pred),
    "f1": lambda c: f1(c.y, c.pred),
    "auroc": lambda c: auroc(c.y, c.scores),
    "delta_eo": lambda c: delta_eo(c.y, c.pred, sensitive_features=c.sens),
    "delta_dp": lambda c: delta_dp(c.pred, sensitive_features=c.sens),
    "delta_cf": lambda c: over_rates(c.pred, dict(enumerate(c.worlds))).rate,
    "delta_cf_released": lambda c: between_worlds(dict(enumerate(c.worlds))).rate,
    "delta_cf_self": lambda c: flips(c.pred, c.worlds[0]).rate,
    "delta_cf_neighbor": lambda c: flips(c.pred, c.worlds).rate,
    "delta_cf_both": lambda c: flips(c.pred, list(c.worlds)).rate,
    "r2": lambda c: r2(c.pred, c.summary),
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n = draw(st.integers(1, 30))
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n).map(np.array)
    parts = st.lists(st.integers(0, 5), min_size=n, max_size=n).map(lambda v: np.array(v) / 5)
    y, pred, sens, *worlds = (draw(bits) for _ in range(6))
    return Case(y, draw(parts), pred, sens, draw(parts), np.stack(worlds))


def model(noise: float, seed: int = 0) -> Case:
    """Predictions that are the more wrong, and the less alike over groups, the larger the noise."""
    rng = np.random.default_rng(seed)
    n = 2000
    sens, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    summary = 0.5 * sens + 0.5 * rng.random(n)

    def scores(s: Integers, m: Floats) -> Floats:
        luck = np.random.default_rng(seed + 1).normal(size=n)
        return np.asarray(y - 0.5 + noise * (0.3 * luck + 0.6 * (s - 0.5) + 0.6 * (m - 0.5)))

    factual = scores(sens, summary)
    worlds = np.stack(
        [scores(np.full(n, s), np.full(n, m)) > 0 for s, m in ((0, 0), (1, 0.5), (1, 1))]
    )
    return Case(y, factual, (factual > 0) * 1, sens, summary, worlds * 1)


def test_the_registry_holds_the_keys_of_metrics_json() -> None:
    keys = "accuracy f1 auroc delta_eo delta_dp delta_cf"
    over = [f"delta_cf_{which}" for which in ("min", "max", "any", "all", "released", "self")]
    assert list(METRICS) == [*keys.split(), *over, "delta_cf_neighbor", "delta_cf_both", "r2"]
    # The bounds over causal models are computed from these.
    assert set(COMPUTE) == set(METRICS) - set(over[:4])
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.label
        assert metric.low < metric.high
    with pytest.raises(UnknownNameError, match="auroc"):
        METRICS["auc"]


@pytest.mark.parametrize("name", list(COMPUTE))
@given(case=cases(), seed=st.integers(0, 100))
def test_range_and_order_of_nodes(name: str, case: Case, seed: int) -> None:
    metric, compute = METRICS[name], COMPUTE[name]
    order = np.random.default_rng(seed).permutation(len(case.y))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, again = compute(case), compute(case.reordered(order))
    assert type(value) is float
    if np.isnan(value):
        assert np.isnan(again)
        assert [w.category for w in caught] == [UndefinedMetricWarning] * 2
    else:
        assert not caught
        assert metric.low <= value <= metric.high
        assert again == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", list(COMPUTE))
def test_direction(name: str) -> None:
    good, fair, poor = (COMPUTE[name](model(noise)) for noise in (0.1, 1.0, 3.0))
    metric = METRICS[name]
    assert metric.better(good, fair)
    assert metric.better(fair, poor)
    assert not metric.better(poor, good)
    assert not metric.better(good, good)
    assert not metric.better(good, float("nan"))
    # A model that is right and treats all alike has the best value there is.
    assert good == pytest.approx(
        metric.high if metric.direction == "higher" else metric.low, abs=0.01
    )

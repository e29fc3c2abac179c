"""Where the regressions end, and how many threads they take."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

from fairgear.methods.baselines import linear
from fairgear.methods.baselines.linear import C_VALUES, LinearLogits, chosen_regression
from fairgear.methods.heads import BINARY_HEAD

Floats = NDArray[np.float64]


def people(classes: int, n: int = 240) -> tuple[Floats, NDArray[np.int64]]:
    """Columns of which two are the sum of others, as indicators are, and labels that follow."""
    draw = np.random.default_rng(3)
    own = draw.standard_normal((n, 6))
    x = np.column_stack([own, own[:, :3].sum(axis=1), own[:, 0] - own[:, 5]])
    logits = x @ draw.standard_normal((x.shape[1], classes)) + draw.gumbel(size=(n, classes))
    return x, logits.argmax(axis=1)


def gradient(model: LinearLogits, x: Floats, y: NDArray[np.int64], weight: float) -> float:
    """The largest slope of the mean loss with its penalty, written out."""
    w, b = model.w.numpy(), model.b.numpy()
    shares, truth = expit(x @ w + b), y.astype(float)
    if w.ndim == 2:
        shares, truth = softmax(x @ w + b, axis=1), np.eye(w.shape[1])[y]
    slopes = x.T @ (shares - truth) + w / weight
    return float(max(abs(slopes).max(), abs((shares - truth).sum(axis=0)).max()) / len(y))


@pytest.mark.parametrize("most", [1000, 0])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_logistic_regression_ends_where_the_loss_is_least(
    classes: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "_MOST_COEFFICIENTS", most)
    x, y = people(classes)
    outputs = 1 if classes == 2 else classes
    for weight in C_VALUES:
        model = LinearLogits.of(x, y, weight, outputs)
        # Newton's method is exact; lbfgs, where there are many coefficients, nearly so.
        assert gradient(model, x, y, weight) < (1e-9 if most else 2e-6)
        oracle = LogisticRegression(C=weight, tol=1e-8, max_iter=10_000).fit(x, y)
        logits = model(torch.from_numpy(x)).numpy()
        expected = oracle.decision_function(x)
        if classes > 2:
            logits = logits - logits.mean(axis=1, keepdims=True)
            expected = expected - expected.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(logits, expected, atol=1e-3 if most == 0 else 1e-4)


def test_where_newtons_method_cannot_go_on_another_does() -> None:
    """Labels that a column tells, and a penalty that is lost in rounding."""
    x, y = people(2)
    x[:, 0] = np.where(y == 1, 3.0, -3.0)
    x = 1000 * np.column_stack([x, x])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = LinearLogits.of(x, y, 1e8)
    assert not said
    predicted = model(torch.from_numpy(x)) > 0
    assert np.array_equal(predicted.numpy(), y == 1)


def test_the_choice_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    fit = LogisticRegression.fit

    def noted(self: LogisticRegression, x: Floats, y: NDArray[np.int64]) -> LogisticRegression:
        threads.update(pool["num_threads"] for pool in threadpool_info())
        return fit(self, x, y)

    monkeypatch.setattr(LogisticRegression, "fit", noted)
    x, y = people(2)
    val = (torch.from_numpy(x), torch.from_numpy(y))
    found, model = chosen_regression((val[0], y), val, None, BINARY_HEAD)
    # On the people that it has learned from, the least penalty is the best.
    assert found == C_VALUES[-1]
    assert gradient(model, x, y, found) < 1e-9
    assert threads == {1}

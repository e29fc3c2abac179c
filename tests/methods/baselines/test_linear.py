"""Where the regressions end, and how many threads they take."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

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


@pytest.mark.parametrize("classes", [2, 3])
def test_a_logistic_regression_ends_where_the_loss_is_least(classes: int) -> None:
    x, y = people(classes)
    for weight in C_VALUES:
        model = LinearLogits.of(x, y, weight, 1 if classes == 2 else classes)
        assert gradient(model, x, y, weight) < 2e-6


def test_the_choice_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    fit = LogisticRegression.fit

    def noted(self: LogisticRegression, x: Floats, y: NDArray[np.int64]) -> LogisticRegression:
        threads.extend(pool["num_threads"] for pool in threadpool_info())
        return fit(self, x, y)

    monkeypatch.setattr(LogisticRegression, "fit", noted)
    x, y = people(2)
    val = (torch.from_numpy(x), torch.from_numpy(y))
    with threadpool_limits(2):
        assert 2 in {pool["num_threads"] for pool in threadpool_info()}
        found, model = chosen_regression((val[0], y), val, None, BINARY_HEAD)
    # On the people that it has learned from, the least penalty is the best.
    assert found == C_VALUES[-1]
    assert gradient(model, x, y, found) < 2e-6
    assert set(threads) == {1}

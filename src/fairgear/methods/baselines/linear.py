"""Linear logits, by logistic regression or ridge, and the choice of their penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from fairgear.methods.heads import Head
from fairgear.progress import bar

# Features and labels of some people.
Labelled = tuple[Tensor, Tensor]
# Values of C to choose from, the strongest penalty first.
C_VALUES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


class LinearLogits(nn.Module):
    """x·w + b, for features of `width` columns; w and b have a column for each of `outputs`."""

    w: Tensor
    b: Tensor

    def __init__(self, width: int, outputs: int = 1) -> None:
        super().__init__()
        more = () if outputs == 1 else (outputs,)
        self.register_buffer("w", torch.zeros((width, *more), dtype=torch.float64))
        self.register_buffer("b", torch.zeros(more, dtype=torch.float64))

    @classmethod
    def of(cls, x: NDArray[np.float64], y: NDArray[Any], weight: float, outputs: int = 1) -> Self:
        """The regression with C = `weight`: logistic for classes, ridge for numbers."""
        # A smaller tolerance than the default, so that equal problems have equal solutions.
        solver = LogisticRegression(C=weight, tol=1e-6, max_iter=10_000)
        if y.dtype.kind == "f":
            solver = Ridge(alpha=1 / weight, solver="cholesky")
        # On busy cores, threads that wait for each other make this a hundred times slower.
        with threadpool_limits(1):
            solved = solver.fit(x, y)
        made = cls(x.shape[1], outputs)
        made.w.copy_(torch.from_numpy(np.atleast_2d(solved.coef_).T).reshape(made.w.shape))
        made.b.copy_(torch.from_numpy(np.atleast_1d(solved.intercept_)).reshape(made.b.shape))
        return made

    def forward(self, x: Tensor) -> Tensor:
        """Logits (m,), or (m, outputs)."""
        return x @ self.w + self.b


def chosen_regression(
    train: tuple[Tensor, NDArray[Any]], val: Labelled, weight: float | None, head: Head
) -> tuple[float, LinearLogits]:
    """C and the regression with it: as given, or the one with the least loss on `val`."""
    weights = C_VALUES if weight is None else (float(weight),)
    x, y = train[0].numpy(), train[1]
    fitted = {}
    with bar("fitting regressions", total=len(weights)) as shown:
        for each in weights:
            fitted[each] = LinearLogits.of(x, y, each, head.outputs)
            shown.advance()
    # Ties go to the first, which has the strongest penalty.
    best = min(weights, key=lambda each: float(head.loss(fitted[each](val[0]), val[1])))
    return best, fitted[best]

"""Model: the little that an evaluation asks of what it evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.metrics.inputs import Floats, Integers


class Model(Protocol):
    """Anything that scores people on a graph; every fitted `Method` is one."""

    @property
    def threshold_(self) -> float | None:
        """A person is given label 1 where the probability of class 1 is above this."""

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[Any]:
        """Probabilities (m, 2) of the classes 0 and 1 for the rows `nodes` of `graph`."""


@dataclass(frozen=True)
class Predictions:
    """Scores and labels of some people in one world."""

    scores: Floats
    labels: Integers


def predict(model: Model, graph: SensitiveGraph, nodes: Tensor) -> Predictions:
    """The model's predictions for `nodes`, checked."""
    table = np.asarray(model.predict_proba(graph, nodes=nodes), dtype=np.float64)
    if table.shape != (len(nodes), 2):
        raise ParameterError(
            "what predict_proba returned",
            got=f"shape {table.shape}",
            allowed=f"shape ({len(nodes)}, 2), one row for each of `nodes`",
            next_step="return the probabilities of the classes 0 and 1, for those nodes only",
        )
    # Written so that NaN is refused too.
    if not bool(((table >= 0) & (table <= 1)).all()):
        raise ParameterError(
            "what predict_proba returned",
            got="NaN, or values outside 0 to 1",
            allowed="probabilities",
            next_step="find out why the model gives no probability there",
        )
    if model.threshold_ is None:
        raise NotFittedError(
            "a model to evaluate",
            got="one whose threshold_ is None",
            allowed="a fitted model",
            next_step="call fit(graph) first, or set threshold_",
        )
    scores = table[:, 1]
    return Predictions(scores, (scores > model.threshold_).astype(np.int64))

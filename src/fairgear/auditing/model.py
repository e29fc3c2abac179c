"""Model: the little that an evaluation asks of an estimator, and what it makes of its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.world import World
from fairgear.graph import SensitiveGraph
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import quiet

# Sums in another order, as another thread or another batch may make them, are no other answer.
ROUNDING = 1e-6


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


def predict(model: Adapter, world: World, nodes: Tensor) -> Predictions:
    """The model's predictions for `nodes`; whatever else it logs is heard on the factual graph."""
    if world.protocol == "factual":
        scores = model.scores(world, nodes)
    else:
        with quiet():
            scores = model.scores(world, nodes)
    return Predictions(scores, (scores > model.threshold).astype(np.int64))

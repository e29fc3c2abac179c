"""Predictions: what an evaluation makes of a model's scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.world import World
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import quiet

# Sums in another order, as another thread or another batch may make them, are no other answer.
ROUNDING = 1e-6


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

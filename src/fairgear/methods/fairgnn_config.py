"""The settings of FairGNN. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.whole_graph_config import WholeGraphConfig
from fairgear.settings import OneOf, Range


@dataclass(frozen=True)
class FairGnnConfig(WholeGraphConfig):
    """How FairGNN is built and trained; docs/methods/fairgnn.md has the sources of the defaults."""

    encoder: Annotated[str, OneOf("gcn", "graphsage")] = "gcn"
    """The layers of the classifier: `gcn` or `graphsage`."""
    use_sens: bool = False
    """Whether the classifier sees the sensitive attribute, everybody's then."""
    known_sens: Annotated[int, Range(0, 10**9)] = 200
    """People whose sensitive attribute the training may read; 0 for everybody."""
    alpha: Annotated[float, Range(0, math.inf)] = 10.0
    """Weight of the covariance of predictions and sensitive attribute."""
    beta: Annotated[float, Range(0, math.inf)] = 1.0
    """Weight of the adversary's loss, which the representations are to raise."""
    learning_rate: float = 0.003
    """Of Adam, for classifier and estimator."""
    adversary_steps: Annotated[int, Range(1, 1000)] = 5
    """Steps of the adversary for each of the classifier."""
    adversary_rate: Annotated[float, Range(1e-08, 10.0)] = 0.1
    """Learning rate of the adversary: it must keep up with the classifier."""
    estimator_dim: Annotated[int, Range(1, 65536)] = 128
    """Width of the layers that estimate the sensitive attribute; there are `layers` of them."""
    estimator_steps: Annotated[int, Range(1, 10**7)] = 100
    """Steps in which these are trained, before all others."""

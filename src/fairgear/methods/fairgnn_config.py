"""The settings of FairGNN. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.methods.config import Limits
from fairgear.methods.whole_graph_config import WholeGraphConfig


@dataclass(frozen=True)
class FairGnnConfig(WholeGraphConfig):
    """How FairGNN is built and trained; docs/methods/fairgnn.md has the sources of the defaults."""

    encoder: str = "gcn"
    """The layers of the classifier: `gcn` or `graphsage`."""
    use_sens: bool = False
    """Whether the classifier sees the sensitive attribute, everybody's then."""
    known_sens: int = 200
    """People whose sensitive attribute the training may read; 0 for everybody."""
    alpha: float = 10.0
    """Weight of the covariance of predictions and sensitive attribute."""
    beta: float = 1.0
    """Weight of the adversary's loss, which the representations are to raise."""
    learning_rate: float = 0.003
    """Of Adam, for classifier and estimator."""
    adversary_steps: int = 5
    """Steps of the adversary for each of the classifier."""
    adversary_rate: float = 0.1
    """Learning rate of the adversary: it must keep up with the classifier."""
    estimator_dim: int = 128
    """Width of the layers that estimate the sensitive attribute; there are `layers` of them."""
    estimator_steps: int = 100
    """Steps in which these are trained, before all others."""

    def limits(self) -> dict[str, Limits]:
        """Ranges and names of the fields."""
        return super().limits() | {
            "encoder": ("gcn", "graphsage"),
            "known_sens": (0, 10**9),
            "alpha": (0, math.inf),
            "beta": (0, math.inf),
            "adversary_steps": (1, 1000),
            "adversary_rate": (1e-8, 10.0),
            "estimator_dim": (1, 65536),
            "estimator_steps": (1, 10**7),
        }

"""The settings of networks on whole graphs. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.methods.config import Config, Limits


@dataclass(frozen=True)
class WholeGraphConfig(Config):
    """How a network on the whole graph is built and trained."""

    layers: int = 2
    """Layers of the encoder: how many hops it sees."""
    dim: int = 16
    """Width of every layer, and of the representations."""
    dropout: float = 0.5
    """Between layers."""
    use_sens: bool = True
    """Whether the network sees the sensitive attribute."""
    learning_rate: float = 0.01
    """Of Adam."""
    weight_decay: float = 1e-5
    """Of Adam: this times the parameters is added to the gradient."""
    steps: int = 500
    """Training steps; without batches each sees all labelled people, and is an epoch."""
    validate_every: int = 5
    """Steps between two looks at the validation data; the state of the best AUROC is kept."""
    batch_size: int = 0
    """Labelled people a step, and people at a time in prediction; 0 for the whole graph at once."""
    fanout: int = 0
    """With batches, in training: neighbours of a person that are drawn; 0 for all of them."""
    threshold: str = "half"
    """The decision threshold: `half` (0.5), or the most accurate on `validation` data."""

    def limits(self) -> dict[str, Limits]:
        """Ranges and names of the fields."""
        return {
            "layers": (1, 16),
            "dim": (1, 65536),
            "dropout": (0, 0.99),
            "learning_rate": (1e-8, 10.0),
            "weight_decay": (0, math.inf),
            "steps": (1, 10**7),
            "validate_every": (1, 10**7),
            "batch_size": (0, 10**9),
            "fanout": (0, 10**6),
            "threshold": ("half", "validation"),
        }

"""The settings of networks on whole graphs. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fairgear.settings import Config, OneOf, Range


@dataclass(frozen=True)
class WholeGraphConfig(Config):
    """How a network on the whole graph is built and trained."""

    layers: Annotated[int, Range(1, 16)] = 2
    """Layers of the encoder: how many hops it sees."""
    dim: Annotated[int, Range(1, 65536)] = 16
    """Width of every layer, and of the representations."""
    dropout: Annotated[float, Range(0, 0.99)] = 0.5
    """Between layers."""
    use_sens: bool = True
    """Whether the network sees the sensitive attribute."""
    learning_rate: Annotated[float, Range(1e-08, 10.0)] = 0.01
    """Of Adam."""
    weight_decay: Annotated[float, Range(0, math.inf)] = 1e-5
    """Of Adam: this times the parameters is added to the gradient."""
    steps: Annotated[int, Range(1, 10**7)] = 500
    """Training steps; without batches each sees all labelled people, and is an epoch."""
    validate_every: Annotated[int, Range(1, 10**7)] = 5
    """Steps between two looks at the validation data; the state of the best AUROC is kept."""
    batch_size: Annotated[int, Range(0, 10**9)] = 0
    """Labelled people a step, and people at a time in prediction; 0 for the whole graph at once."""
    fanout: Annotated[int, Range(0, 10**6)] = 0
    """With batches, in training: neighbours of a person that are drawn; 0 for all of them."""
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    """The decision threshold: `half` (0.5), or the most accurate on `validation` data."""

"""The settings of Gear. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fairgear.settings import Config, OneOf, Range

# The causal models that Gear is trained for unless the user believes in others.
FAMILY = ("shift", "quantile", "gaussian")
# Encoders that read a person's own features alone: floors with the same inputs and loss.
WITHOUT_GRAPH = ("mlp", "linear")
# People of a graph that is trained on as a whole; larger ones are trained on in batches
WHOLE_UP_TO = 200_000
# of so many labelled people, and again as many of all.
BATCH = 1000
# Steps between two validations.
VALIDATE_EVERY = 20


@dataclass(frozen=True)
class GearConfig(Config):
    """The settings of `Gear`, which says what they mean.

    Example:
        >>> from fairgear.methods import GearConfig
        >>> GearConfig(fairness_weight=10.0).encoder
        'graphsage'
    """

    causal: str = "family"
    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "mlp", "linear")] = "graphsage"
    layers: Annotated[int, Range(1, 16)] = 2
    dim: Annotated[int, Range(1, 65536)] = 64
    dropout: Annotated[float, Range(0, 0.99)] = 0.2
    fairness_weight: Annotated[float, Range(0, math.inf)] = 5.0
    views: bool = True
    edge_noise: Annotated[float, Range(0, 1)] = 0.5
    r2_limit: Annotated[float | str, Range(0, 1), OneOf("labels")] = "labels"
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.01
    weight_decay: Annotated[float, Range(0, math.inf)] = 1e-5
    steps: Annotated[int, Range(1, 10**7)] = 300
    batch_size: Annotated[int | None, Range(0, 10**9)] = None
    fanout: Annotated[int, Range(0, 10**6)] = 10
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"

    @property
    def reads_graph(self) -> bool:
        """Whether the encoder uses edges."""
        return self.encoder not in WITHOUT_GRAPH

    @property
    def hops(self) -> int:
        """How far the network reads."""
        return self.layers if self.reads_graph else 0

    @property
    def validate_every(self) -> int:
        """Steps between two validations."""
        return VALIDATE_EVERY

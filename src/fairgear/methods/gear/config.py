"""The settings of Gear. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.ego_settings import check_micro_batches, ego_precision
from fairgear.settings import Config, OneOf, Range

# The causal models that Gear is trained for unless the user believes in others.
FAMILY = ("shift", "quantile", "gaussian")
# Encoders that read a person's own features alone: floors with the same inputs and loss.
WITHOUT_GRAPH = ("mlp", "linear")
# Layers of the encoder.
LAYERS = 2
# Steps between two validations.
VALIDATE_EVERY = 100


@dataclass(frozen=True)
class GearConfig(Config):
    """The settings of `Gear`, which says what they mean."""

    causal: str = "family"
    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "mlp", "linear")] = "graphsage"
    k: Annotated[int, Range(1, 64)] = 20
    dim: Annotated[int, Range(1, 65536)] = 64
    dropout: Annotated[float, Range(0, 0.99)] = 0.2
    fairness_weight: Annotated[float, Range(0, math.inf)] = 2.0
    views: bool = True
    edge_noise: Annotated[float, Range(0, 1)] = 0.5
    r2_limit: Annotated[float | str, Range(0, 1), OneOf("labels")] = "labels"
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.003
    weight_decay: Annotated[float, Range(0, math.inf)] = 1e-5
    steps: Annotated[int, Range(1, 10**7)] = 1000
    batch_size: Annotated[int, Range(2, 10**6)] = 100
    micro_batches: Annotated[int, Range(1, 10**4)] = 1
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"

    @property
    def reads_graph(self) -> bool:
        """Whether the encoder uses edges."""
        return self.encoder not in WITHOUT_GRAPH

    def check_batches(self, labels: int, processes: int = 1) -> None:
        """Refuse micro-batches that cannot be shared."""
        check_micro_batches(self.micro_batches, min(self.batch_size, labels), processes)

    def ego_precision(self, people: int) -> str:
        """`exact` or `close`, for a graph of that many people."""
        return ego_precision("auto", people)

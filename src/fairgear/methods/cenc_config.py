"""The settings of C-ENC. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.whole_graph_config import WholeGraphConfig
from fairgear.settings import OneOf, Range


@dataclass(frozen=True)
class CencConfig(WholeGraphConfig):
    """How C-ENC is built and trained."""

    layer: Annotated[str, OneOf("graphsage", "gcn", "gin")] = "graphsage"
    """The layers of the encoder: graphsage, gcn or gin."""
    adversary_weight: Annotated[float, Range(0, math.inf)] = 10.0
    """λ: how much the filtered embeddings must hide s from the discriminator."""
    discriminator_steps: Annotated[int, Range(1, 1000)] = 5
    """Steps of the discriminator before each step of the network."""
    selection: Annotated[str, OneOf("last", "auroc")] = "last"
    """The state to keep: the `last`, or the one with the best validation `auroc`."""

"""The settings of C-ENC. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.methods.config import Limits
from fairgear.methods.whole_graph_config import WholeGraphConfig


@dataclass(frozen=True)
class CencConfig(WholeGraphConfig):
    """How C-ENC is built and trained."""

    layer: str = "graphsage"
    """The layers of the encoder: graphsage, gcn or gin."""
    adversary_weight: float = 10.0
    """λ: how much the filtered embeddings must hide s from the discriminator."""
    discriminator_steps: int = 5
    """Steps of the discriminator before each step of the network."""
    selection: str = "last"
    """The state to keep: the `last`, or the one with the best validation `auroc`."""

    def limits(self) -> dict[str, Limits]:
        """Ranges and names of the fields."""
        return {
            **super().limits(),
            "layer": ("graphsage", "gcn", "gin"),
            "adversary_weight": (0, math.inf),
            "discriminator_steps": (1, 1000),
            "selection": ("last", "auroc"),
        }

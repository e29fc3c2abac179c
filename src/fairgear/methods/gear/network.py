"""The network that Gear trains: from people and their neighbours to logits."""

from __future__ import annotations

from typing import Self

import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.baselines.layers import GcnLayer, GinLayer, LayeredEncoder, SageLayer
from fairgear.methods.baselines.neighbors import Neighbors
from fairgear.methods.gear.config import GearConfig

# What the encoders that read a graph are made of.
LAYERS: dict[str, type[nn.Module]] = {"graphsage": SageLayer, "gcn": GcnLayer, "gin": GinLayer}


class GearNetwork(nn.Module):
    """Each person is embedded alone, then the encoder reads the embeddings of their neighbours."""

    def __init__(self, features: int, config: GearConfig, outputs: int = 1) -> None:
        super().__init__()
        self.dropout, self.reads_graph = config.dropout, config.reads_graph
        self.linear = config.encoder == "linear"
        width = outputs if self.linear else config.dim
        self.embed = nn.Linear(features, width)
        self.encoder: nn.Module = nn.Identity()
        if config.reads_graph:
            self.encoder = LayeredEncoder(LAYERS[config.encoder], width, config)
        elif not self.linear:
            self.encoder = nn.Linear(width, width)
        self.out = nn.Identity() if self.linear else nn.Linear(width, outputs)

    def headless(self) -> Self:
        """Itself without the last layer, for what reads representations alone."""
        self.out = nn.Identity()
        return self

    def forward(self, x: Tensor, neighbors: Neighbors) -> tuple[Tensor, Tensor]:
        """Representations (m, dim) and logits (m,), or (m, outputs) where there are several."""
        people = self.embed(x if self.reads_graph else neighbors.own(x))
        if self.linear:
            return people, _one_or_all(people)
        people = self._dropped(people)
        z: Tensor = self.encoder(people, neighbors) if self.reads_graph else self.encoder(people)
        logits: Tensor = self.out(self._dropped(z))
        return z, _one_or_all(logits)

    def _dropped(self, x: Tensor) -> Tensor:
        return F.dropout(F.relu(x), self.dropout, self.training)


def _one_or_all(logits: Tensor) -> Tensor:
    return logits[:, 0] if logits.shape[1] == 1 else logits

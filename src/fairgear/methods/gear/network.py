"""The network that Gear trains: from people in several views, and their neighbours, to logits."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.baselines.layers import GcnLayer, GinLayer, LayeredEncoder, SageLayer
from fairgear.methods.baselines.neighbors import Neighbors
from fairgear.methods.gear.config import GearConfig

# What the encoders that read a graph are made of.
LAYERS: dict[str, type[nn.Module]] = {"graphsage": SageLayer, "gcn": GcnLayer, "gin": GinLayer}


class GearNetwork(nn.Module):
    """Each person is embedded in all of their views, and the mean goes to the encoder.

    People's features are views (m, views · d): as they are first, then as the models of the family
    move them to the other group. Both groups weigh one half in the mean.
    """

    weights: Tensor

    def __init__(self, features: int, views: int, config: GearConfig) -> None:
        super().__init__()
        others = views - 1
        weights = [0.5] + [0.5 / others] * others if others else [1.0]
        self.register_buffer("weights", torch.tensor(weights), persistent=False)
        self.dropout, self.reads_graph = config.dropout, config.reads_graph
        self.linear = config.encoder == "linear"
        width = 1 if self.linear else config.dim
        self.embed = nn.Linear(features, width)
        self.encoder: nn.Module = nn.Identity()
        if config.reads_graph:
            self.encoder = LayeredEncoder(LAYERS[config.encoder], width, config)
        elif not self.linear:
            self.encoder = nn.Linear(width, width)
        self.out = nn.Identity() if self.linear else nn.Linear(width, 1)

    def forward(self, x: Tensor, neighbors: Neighbors) -> tuple[Tensor, Tensor]:
        """Representations (m, dim) and logits (m,)."""
        people = self.people(x)
        z: Tensor = self.encoder(people, neighbors) if self.reads_graph else self.encoder(people)
        if self.linear:
            return z, z[:, 0]
        logits: Tensor = self.out(F.dropout(F.relu(z), self.dropout, self.training))
        return z, logits[:, 0]

    def people(self, x: Tensor) -> Tensor:
        """Embeddings (m, dim): the mean over the views."""
        values: Tensor = self.embed(x.view(len(x), len(self.weights), -1))
        if self.linear:
            return torch.einsum("mvd,v->md", values, self.weights)
        mean = torch.einsum("mvd,v->md", F.relu(values), self.weights)
        return F.dropout(mean, self.dropout, self.training)

"""The network that Gear trains: from a person's ego, in several views, to one logit."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.egos import Ego
from fairgear.methods.gear.config import LAYERS, GearConfig
from fairgear.nn import ENCODERS
from fairgear.nn.heads import dropout


class GearNetwork(nn.Module):
    """Each member of an ego is embedded in all of its views, and the mean goes to the encoder.

    The egos' features are views (B, k, views, d): those of the member as it is first, then as the
    models of the family move it to the other group. Both groups weigh one half in the mean.
    """

    weights: Tensor

    def __init__(self, features: int, views: int, config: GearConfig) -> None:
        super().__init__()
        others = views - 1
        weights = [0.5] + [0.5 / others] * others if others else [1.0]
        self.register_buffer("weights", torch.tensor(weights), persistent=False)
        self.dropout, width = config.dropout, features + 1
        self.linear = config.encoder == "linear"
        self.embed = None if self.linear else nn.Linear(width, config.dim)
        self.encoder: nn.Module | None = None
        if config.reads_graph:
            self.encoder = ENCODERS[config.encoder](config.dim, config.dim, LAYERS, config.dropout)
        elif not self.linear:
            self.encoder = nn.Linear(config.dim, config.dim)
        self.reads_graph = config.reads_graph
        self.out = nn.Linear(width if self.linear else config.dim, 1)

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Representations (B, dim) and logits (B,) of the centres."""
        seen = self.inputs(ego)
        if self.linear:
            z = self._mean(seen)[:, 0]
            logits: Tensor = self.out(z)
            return z, logits[:, 0]
        members = dropout(F.relu(self.embed(seen)), self.dropout, self.training)
        mean = self._mean(members) * ego.mask[..., None]
        assert self.encoder is not None
        z = self.encoder(mean, ego.adjacency, ego.mask) if self.reads_graph else self.encoder(mean[:, 0])
        logits = self.out(dropout(F.relu(z), self.dropout, self.training))
        return z, logits[:, 0]

    def inputs(self, ego: Ego) -> Tensor:
        """What is embedded: features and s of each view, (B, k, views, d + 1)."""
        x, sens = ego.x, ego.sens[..., None].to(ego.x.dtype)
        others = (1 - sens).expand(*sens.shape[:-1], x.shape[-2] - 1)
        groups = torch.cat([sens, others], dim=-1)[..., None]
        return torch.cat([x, groups], dim=-1)

    def _mean(self, values: Tensor) -> Tensor:
        """Over the views."""
        return torch.einsum("bkvd,v->bkd", values, self.weights)

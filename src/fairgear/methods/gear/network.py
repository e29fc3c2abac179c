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
        self.dropout, self.reads_graph = config.dropout, config.reads_graph
        self.linear = config.encoder == "linear"
        width = 1 if self.linear else config.dim
        self.embed = nn.Linear(features, width)
        self.group = nn.Linear(1, width, bias=False)
        self.encoder: nn.Module = nn.Identity()
        if config.reads_graph:
            self.encoder = ENCODERS[config.encoder](width, width, LAYERS, config.dropout)
        elif not self.linear:
            self.encoder = nn.Linear(width, width)
        self.out = nn.Identity() if self.linear else nn.Linear(width, 1)

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Representations (B, dim) and logits (B,) of the centres."""
        members = self.members(ego)
        if self.reads_graph:
            z: Tensor = self.encoder(members, ego.adjacency, ego.mask)
        else:
            z = self.encoder(members[:, 0])
        if self.linear:
            return z, z[:, 0]
        logits: Tensor = self.out(dropout(F.relu(z), self.dropout, self.training))
        return z, logits[:, 0]

    def members(self, ego: Ego) -> Tensor:
        """The members' embeddings (B, k, dim): the mean over their views."""
        values: Tensor = self.embed(ego.x) + self.group(self._groups(ego)[..., None])
        if self.linear:
            return torch.einsum("bkvd,v->bkd", values, self.weights)
        mean = torch.einsum("bkvd,v->bkd", F.relu(values), self.weights)
        return dropout(mean, self.dropout, self.training) * ego.mask[..., None]

    def _groups(self, ego: Ego) -> Tensor:
        """s in each view, (B, k, views): as it is first, then the other."""
        sens = ego.sens[..., None].to(ego.x.dtype)
        return torch.cat([sens, (1 - sens).expand(*ego.sens.shape, ego.x.shape[-2] - 1)], dim=-1)

"""The graph VAE on egos: q(H | X, S, A) and p(X, A | H, S), with the discriminator on H."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.nn.layers import SageLayer


@dataclass(frozen=True)
class Latent:
    """The posterior of H for the members of an ego batch: (B, k, latent) each."""

    mean: Tensor
    log_variance: Tensor

    def sample(self) -> Tensor:
        """H = mean + noise."""
        return self.mean + torch.randn_like(self.mean) * (0.5 * self.log_variance).exp()


class GraphVAE(nn.Module):
    """Encodes every member of an ego, and decodes features and edges given s.

    `features` are the columns of x without the sensitive one, `latent` is the dimension of H.
    """

    def __init__(self, features: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.encoder = SageLayer(features + 1, hidden)
        self.posterior = nn.Linear(hidden, 2 * latent)
        self.features = _mlp(latent + 1, hidden, features)
        self.feature_shift = nn.Parameter(torch.zeros(features))
        self.feature_log_variance = nn.Parameter(torch.zeros(features))
        self.position = _mlp(latent + 1, hidden, latent)
        self.edge_bias = nn.Parameter(torch.zeros(()))

    def encode(self, x: Tensor, sens: Tensor, adjacency: Tensor, mask: Tensor) -> Latent:
        """The posterior; the encoder sees s, because otherwise H must carry it to rebuild X."""
        both = torch.cat([x, sens[..., None].to(x.dtype)], dim=-1)
        hidden = F.relu(self.encoder(both, adjacency, mask))
        mean, log_variance = self.posterior(hidden).chunk(2, dim=-1)
        return Latent(mean, log_variance.clamp(-8.0, 4.0))

    def decode_features(self, h: Tensor, sens: Tensor) -> Tensor:
        """The mean of p(X | H, s); s also has a direct, linear path."""
        s = sens[..., None].to(h.dtype)
        decoded: Tensor = self.features(torch.cat([h, s], dim=-1)) + s * self.feature_shift
        return decoded

    def decode_edges(self, h: Tensor, sens: Tensor) -> Tensor:
        """Logits of p(A | H, s), symmetric (…, k, k)."""
        place = self.position(torch.cat([h, sens[..., None].to(h.dtype)], dim=-1))
        logits: Tensor = place @ place.transpose(-1, -2) / place.shape[-1] ** 0.5 + self.edge_bias
        return logits


class Discriminator(nn.Module):
    """Reads from the H of an ego the range of its mean sensitive value."""

    def __init__(self, latent: int, hidden: int, ranges: int) -> None:
        super().__init__()
        self.member = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU())
        self.ego = _mlp(hidden, hidden, ranges)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """Logits (B, ranges)."""
        weight = mask[..., None].to(h.dtype)
        mean = (self.member(h) * weight).sum(dim=1) / weight.sum(dim=1)
        logits: Tensor = self.ego(mean)
        return logits


def _mlp(width_in: int, hidden: int, width_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width_in, hidden), nn.ReLU(), nn.Linear(hidden, width_out))

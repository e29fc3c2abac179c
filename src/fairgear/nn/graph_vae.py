"""The graph VAE on egos: q(H | X, S, A) and p(X, A | H, S), with the discriminator on H."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.nn.layers import SageLayer
from fairgear.nn.sens_code import SensCode


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

    Args:
        features: columns of x without the sensitive one.
        hidden: width of the hidden layers.
        latent: dimension of H.
        code: φ(s), which encoder and decoders read.
        directed: whether edges have directions; each arc is then decoded for itself.

    Example:
        >>> import torch
        >>> from fairgear.egos import EgoIndex
        >>> from fairgear.nn import GraphVAE
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> batch = EgoIndex.build(graph, k=5).batch(torch.tensor([0, 7]), graph.x)
        >>> sens = graph.sens[batch.n_id]
        >>> vae = GraphVAE(features=graph.x.shape[1], hidden=16, latent=8)
        >>> latent = vae.encode(batch.x, sens, batch.adjacency, batch.mask)
        >>> tuple(vae.decode_features(latent.mean, 1 - sens).shape)
        (2, 5, 5)
        >>> tuple(vae.decode_edges(latent.mean, 1 - sens).shape)
        (2, 5, 5)
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        latent: int,
        code: SensCode | None = None,
        *,
        directed: bool = False,
    ) -> None:
        super().__init__()
        self.code = SensCode() if code is None else code
        self.directed = directed
        values = self.code.width
        self.encoder = SageLayer(features + values, hidden)
        self.posterior = nn.Linear(hidden, 2 * latent)
        self.features = _mlp(latent + values, hidden, features)
        shape = (features,) if values == 1 else (values, features)
        self.feature_shift = nn.Parameter(torch.zeros(shape))
        self.feature_log_variance = nn.Parameter(torch.zeros(features))
        self.position = _mlp(latent + values, hidden, latent * (2 if directed else 1))
        self.edge_bias = nn.Parameter(torch.zeros(()))

    def encode(self, x: Tensor, sens: Tensor, adjacency: Tensor, mask: Tensor) -> Latent:
        """The posterior; the encoder sees s, because otherwise H must carry it to rebuild X."""
        both = torch.cat([x, self.code(sens).to(x.dtype)], dim=-1)
        hidden = F.relu(self.encoder(both, adjacency, mask))
        mean, log_variance = self.posterior(hidden).chunk(2, dim=-1)
        return Latent(mean, log_variance.clamp(-8.0, 4.0))

    def decode_features(self, h: Tensor, sens: Tensor) -> Tensor:
        """The mean of p(X | H, s); s also has a direct, linear path."""
        s = self.code(sens).to(h.dtype)
        direct = s * self.feature_shift if s.shape[-1] == 1 else s @ self.feature_shift
        decoded: Tensor = self.features(torch.cat([h, s], dim=-1)) + direct
        return decoded

    def decode_edges(self, h: Tensor, sens: Tensor) -> Tensor:
        """Logits of p(A | H, s) (…, k, k): symmetric, or [i, j] is of the arc from j to i."""
        place = self.position(torch.cat([h, self.code(sens).to(h.dtype)], dim=-1))
        into, out_of = place.chunk(2, dim=-1) if self.directed else (place, place)
        size = into.shape[-1] ** 0.5
        logits: Tensor = into @ out_of.transpose(-1, -2) / size + self.edge_bias
        return logits


class Discriminator(nn.Module):
    """Reads from the H of an ego the range of its mean sensitive value.

    Of several `values` of φ(s), the range of each.

    Example:
        >>> import torch
        >>> from fairgear.nn import Discriminator
        >>> discriminator = Discriminator(latent=4, hidden=8, ranges=3)
        >>> latent, mask = torch.zeros(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)
        >>> tuple(discriminator(latent, mask).shape)
        (2, 3)
    """

    def __init__(self, latent: int, hidden: int, ranges: int, values: int = 1) -> None:
        super().__init__()
        self.values = values
        self.member = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU())
        self.ego = _mlp(hidden, hidden, values * ranges)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """Logits (B, ranges), or (B, values, ranges) where there are several."""
        weight = mask[..., None].to(h.dtype)
        mean = (self.member(h) * weight).sum(dim=1) / weight.sum(dim=1)
        logits: Tensor = self.ego(mean)
        return logits if self.values == 1 else logits.reshape(len(h), self.values, -1)


def _mlp(width_in: int, hidden: int, width_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width_in, hidden), nn.ReLU(), nn.Linear(hidden, width_out))

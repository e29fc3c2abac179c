"""Where counterfactual egos come from: a learned graph VAE, or the flip of s alone.

`causal_generator.py` has the third: a causal model of the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor

from fairgear.egos import EgoBatch
from fairgear.nn.graph_vae import GraphVAE

_TINY = 1e-30


@dataclass(frozen=True)
class Ego:
    """A batch of egos as networks see them: features without the sensitive column, s apart."""

    x: Tensor
    """(B, k, d), scaled; zero for padded members."""
    sens: Tensor
    """(B, k)."""
    adjacency: Tensor
    """(B, k, k)."""
    mask: Tensor
    """(B, k), false for padded members."""
    n_id: Tensor | None = None
    """(B, k), the members' rows of the graph, where they are known; for padding, the centre's."""

    @classmethod
    def of(cls, batch: EgoBatch, sens: Tensor) -> Self:
        """A batch of an index whose features are scaled already; `sens` is everyone's."""
        return cls(batch.x, batch.gather(sens), batch.adjacency, batch.mask, batch.n_id)

    def __len__(self) -> int:
        return len(self.x)


class Generator(Protocol):
    """Answers for one ego: what would it be, had s been `sens`?"""

    def counterfactual(
        self, ego: Ego, sens: Tensor, dose: Tensor, *, move_edges: bool = True
    ) -> Ego:
        """The counterfactual ego; `dose` (B,) in [0, 1] scales the change of x and A."""
        ...


class FlipOnly:
    """Changes s and nothing else: the variant without an augmentation module."""

    def counterfactual(
        self, ego: Ego, sens: Tensor, dose: Tensor, *, move_edges: bool = True
    ) -> Ego:
        """The ego with s set."""
        return replace(ego, sens=sens)


class VaeGenerator:
    """Abduction with a graph VAE: what its decoder cannot explain of an ego is kept.

    Features: x' = x + dose·(dec(H, s') − dec(H, s)). Edges: with p and p' the decoder's
    probabilities under s and s' (p' moved towards p by the dose), an edge is kept with probability
    min(1, p'/p) and a missing one added with probability max(0, (p' − p)/(1 − p)).
    """

    def __init__(self, vae: GraphVAE) -> None:
        self.vae = vae

    def counterfactual(
        self, ego: Ego, sens: Tensor, dose: Tensor, *, move_edges: bool = True
    ) -> Ego:
        """The counterfactual ego; which edges move is drawn from torch's generator."""
        with torch.no_grad():
            h = self.latent(ego)
            shift = self.vae.decode_features(h, sens) - self.vae.decode_features(h, ego.sens)
            x = (ego.x + dose[:, None, None] * shift) * ego.mask[..., None]
            edges = self._edges(ego, h, sens, dose) if move_edges else ego.adjacency
            return replace(ego, x=x, sens=sens, adjacency=edges)

    def latent(self, ego: Ego) -> Tensor:
        """The posterior mean of H."""
        return self.vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean

    def _edges(self, ego: Ego, h: Tensor, sens: Tensor, dose: Tensor) -> Tensor:
        before = torch.sigmoid(self.vae.decode_edges(h, ego.sens))
        after = torch.sigmoid(self.vae.decode_edges(h, sens))
        change = dose[:, None, None] * (after - before)
        # Written as changes, so that no change is exactly none, and safe where p underflows.
        present = torch.where(
            ego.adjacency > 0,
            1 + change / before.clamp(min=_TINY),
            change / (1 - before).clamp(min=_TINY),
        )
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        upper = torch.triu((torch.rand_like(present) < present) & pairs, diagonal=1)
        return (upper | upper.transpose(1, 2)).to(ego.x.dtype)


def self_perturbed(ego: Ego) -> Tensor:
    """s with the centre's value flipped."""
    sens = ego.sens.clone()
    sens[:, 0] = 1 - sens[:, 0]
    return sens


def neighbor_perturbed(ego: Ego) -> Tensor:
    """s with a fresh 0 or 1, equally likely, for everyone but the centre; padding stays 0."""
    sens = torch.randint_like(ego.sens, 0, 2) * ego.mask
    sens[:, 0] = ego.sens[:, 0]
    return sens

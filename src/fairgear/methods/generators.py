"""Where counterfactual egos come from: a learned graph VAE, or the flip of s alone.

`causal_generator.py` has the third: a causal model of the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    def flat(self) -> Ego:
        """Several views of the same egos (views, B, …) as one batch of egos, for a network."""
        fields = (self.x, self.sens, self.adjacency, self.mask)
        return Ego(*(values.flatten(0, 1) for values in fields))


class Generator(Protocol):
    """Answers for one ego: what would it be, had s been `sens`?

    One question or several at a time: `sens` is (B, k) or (views, B, k), and `dose`, which in
    [0, 1] scales the change of x and A, (B,) or (views, B). The answer has the same leading sizes.
    """

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor) -> Ego:
        """The counterfactual ego."""
        ...


class FlipOnly:
    """Changes s and nothing else: the variant without an augmentation module."""

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor) -> Ego:
        """The ego with s set."""
        return viewed(ego, sens, ego.x, ego.adjacency)


class VaeGenerator:
    """Abduction with a graph VAE: what its decoder cannot explain of an ego is kept.

    Features: x' = x + dose·(dec(H, s') − dec(H, s)). Edges: with p and p' the decoder's
    probabilities under s and s' (p' moved towards p by the dose), an edge is kept with probability
    min(1, p'/p) and a missing one added with probability max(0, (p' − p)/(1 − p)).
    """

    def __init__(self, vae: GraphVAE) -> None:
        self.vae = vae

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor) -> Ego:
        """The counterfactual ego; which edges move is drawn from torch's generator."""
        with torch.no_grad():
            h = self.latent(ego)
            # H and what it decodes to under the factual s are the same for all questions.
            shared = h.expand(*sens.shape, h.shape[-1])
            shift = self.vae.decode_features(shared, sens) - self.vae.decode_features(h, ego.sens)
            x = (ego.x + dose[..., None, None] * shift) * ego.mask[..., None]
            return viewed(ego, sens, x, self._edges(ego, h, shared, sens, dose))

    def latent(self, ego: Ego) -> Tensor:
        """The posterior mean of H."""
        return self.vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean

    def _edges(self, ego: Ego, h: Tensor, shared: Tensor, sens: Tensor, dose: Tensor) -> Tensor:
        before = torch.sigmoid(self.vae.decode_edges(h, ego.sens))
        after = torch.sigmoid(self.vae.decode_edges(shared, sens))
        change = dose[..., None, None] * (after - before)
        # Written as changes, so that no change is exactly none, and safe where p underflows.
        present = torch.where(
            ego.adjacency > 0,
            1 + change / before.clamp(min=_TINY),
            change / (1 - before).clamp(min=_TINY),
        )
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        upper = torch.triu((torch.rand_like(present) < present) & pairs, diagonal=1)
        return (upper | upper.transpose(-1, -2)).to(ego.x.dtype)


def viewed(ego: Ego, sens: Tensor, x: Tensor, adjacency: Tensor) -> Ego:
    """The ego with another s, x and A; all fields have the leading sizes of `sens`."""
    lead = sens.shape[:-2]
    return Ego(
        x.expand(*lead, *ego.x.shape),
        sens,
        adjacency.expand(*lead, *ego.adjacency.shape),
        ego.mask.expand(*lead, *ego.mask.shape),
        None if ego.n_id is None else ego.n_id.expand(*lead, *ego.n_id.shape),
    )


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

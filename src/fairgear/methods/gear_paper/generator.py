"""Where counterfactual egos come from: a graph VAE, or the flip of s alone."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.methods.egos import Ego
from fairgear.methods.gear_paper.config import VaeConfig
from fairgear.nn.graph_vae import GraphVAE
from fairgear.nn.objectives import member_pairs

_TINY = 1e-30


class FlipOnly:
    """Changes s and nothing else: the variant without an augmentation module."""

    def counterfactual(self, ego: Ego, sens: Tensor) -> Ego:
        """The egos with s set."""
        return ego.changed(sens, ego.x, ego.adjacency)


class VaeGenerator:
    """Counterfactual egos from a graph VAE, in one of two ways.

    *abduction* keeps what the decoder cannot explain of an ego. Features: x' = x + dec(H, s') −
    dec(H, s). Edges: with p and p' the decoder's probabilities under s and s', an edge is kept
    with probability min(1, p'/p) and a missing one added with probability
    max(0, (p' − p)/(1 − p)). *decoder* is the paper's text: x' = dec(H, s'), and edges are drawn
    with probability p'.
    """

    def __init__(self, vae: GraphVAE, config: VaeConfig) -> None:
        self.vae = vae
        self.config = config

    @torch.no_grad()
    def counterfactual(self, ego: Ego, sens: Tensor) -> Ego:
        """The counterfactual egos; edges, and H if it is sampled, come from torch's generator."""
        latent = self.vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
        h = latent.sample() if self.config.sample_latent else latent.mean
        # H, and what it decodes to under the factual s, are the same for all views.
        shared = h.expand(*sens.shape, h.shape[-1])
        x = self.vae.decode_features(shared, sens)
        present = torch.sigmoid(self.vae.decode_edges(shared, sens))
        if self.config.counterfactuals == "abduction":
            x = ego.x + (x - self.vae.decode_features(h, ego.sens))
            before = torch.sigmoid(self.vae.decode_edges(h, ego.sens))
            present = _kept_or_added(ego.adjacency, before, present)
        edges = _drawn(ego, present, directed=self.vae.directed)
        return ego.changed(sens, x * ego.mask[..., None], edges)


def _kept_or_added(adjacency: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """The probability of an edge under s', for one that is there or not under s."""
    change = after - before
    # Written as changes, so that no change is exactly none, and safe where p underflows.
    return torch.where(
        adjacency > 0,
        1 + change / before.clamp(min=_TINY),
        change / (1 - before).clamp(min=_TINY),
    )


def _drawn(ego: Ego, present: Tensor, *, directed: bool) -> Tensor:
    """Edges between members with these probabilities; symmetric unless they are directed."""
    found = (torch.rand_like(present) < present) & member_pairs(ego.mask, directed=directed)
    return (found if directed else found | found.transpose(-1, -2)).to(ego.x.dtype)

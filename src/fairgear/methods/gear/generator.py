"""Where counterfactual egos come from: a graph VAE, a causal model, or the flip of s alone."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from fairgear.causal import CausalModel, at_random
from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph
from fairgear.methods.egos import SAMPLE, Ego, EgoSource, sampled_egos
from fairgear.methods.features import FeatureScaler
from fairgear.nn.graph_vae import GraphVAE
from fairgear.progress import bar
from fairgear.training import seeded

_TINY = 1e-30
# Random worlds of a causal model, each with its complement. One pair separates two people of
# different groups with probability one half, four pairs with 15/16.
_PAIRS_OF_WORLDS = 4


class Generator(Protocol):
    """Returns what egos would be, had s been `sens`.

    `sens` is (B, k), or (views, B, k) for several questions at once. `dose`, (B,) or (views, B),
    scales the change of x and A by a number in [0, 1]; None for the whole change. The result has
    the same leading sizes.
    """

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor | None = None) -> Ego:
        """The counterfactual egos."""
        ...


class FlipOnly:
    """Changes s and nothing else: the variant without an augmentation module."""

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor | None = None) -> Ego:
        """The egos with s set."""
        return ego.changed(sens, ego.x, ego.adjacency)


class VaeGenerator:
    """Abduction with a graph VAE: what its decoder cannot explain of an ego is kept.

    Features: x' = x + dose·(dec(H, s') − dec(H, s)). Edges: with p and p' the decoder's
    probabilities under s and s' (p' moved towards p by the dose), an edge is kept with probability
    min(1, p'/p) and a missing one added with probability max(0, (p' − p)/(1 − p)).
    """

    def __init__(self, vae: GraphVAE) -> None:
        self.vae = vae

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor | None = None) -> Ego:
        """The counterfactual egos; edges are drawn from torch's generator."""
        with torch.no_grad():
            dose = _whole(sens, dose)
            h = self.latent(ego)
            # H, and what it decodes to under the factual s, are the same for all views.
            shared = h.expand(*sens.shape, h.shape[-1])
            shift = self.vae.decode_features(shared, sens) - self.vae.decode_features(h, ego.sens)
            x = (ego.x + dose[..., None, None] * shift) * ego.mask[..., None]
            return ego.changed(sens, x, self._edges(ego, h, shared, sens, dose))

    def latent(self, ego: Ego) -> Tensor:
        """The posterior mean of H."""
        return self.vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean

    @torch.no_grad()
    def learned_shift(self, egos: EgoSource, people: int, *, seed: int) -> Tensor:
        """The mean change (d,) of the scaled features from s = 0 to s = 1."""
        with seeded(seed, SAMPLE):
            ego = sampled_egos(egos, people)
        h, zeros = self.latent(ego), torch.zeros_like(ego.sens)
        change = self.vae.decode_features(h, zeros + 1) - self.vae.decode_features(h, zeros)
        return change[ego.mask].mean(dim=0)

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


class CausalGenerator:
    """Looks counterfactual egos up in a few worlds of a causal model.

    A person's features depend on their own attribute only, so the worlds of all zeros and all ones
    contain them under either value. The edge of two members is that of a world in which both have
    the requested values; if no world has, it stays. Egos keep their factual members. The index is
    of all egos of the factual graph, in the order of its rows; `seed` that of the worlds and of the
    model's noise.
    """

    def __init__(
        self,
        model: CausalModel,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        *,
        seed: int = 0,
    ) -> None:
        device = scaler.mean.device
        requested = [torch.zeros_like(graph.sens), torch.ones_like(graph.sens)]
        for draw in range(_PAIRS_OF_WORLDS):
            drawn = at_random(graph, draw=draw, seed=seed)
            requested += [drawn, 1 - drawn]
        self._x: list[Tensor] = []
        self._worlds: list[tuple[Tensor, EgoIndex]] = []
        with bar("worlds of the causal model", total=len(requested)) as progress:
            for sens in requested:
                world = model.counterfactual(graph, sens, seed=seed)
                if len(self._x) < 2:
                    self._x.append(scaler(world))
                self._worlds.append((sens.to(device), index.in_world(world)))
                progress.advance()

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor | None = None) -> Ego:
        """The counterfactual egos; a changed edge is applied with probability `dose`."""
        assert ego.n_id is not None
        dose = _whole(sens, dose)
        zero, one = (values[ego.n_id] for values in self._x)
        target = torch.where(sens[..., None] == 1, one, zero)
        x = (ego.x + dose[..., None, None] * (target - ego.x)) * ego.mask[..., None]
        return ego.changed(sens, x, self._edges(ego, ego.n_id, sens, dose))

    def _edges(self, ego: Ego, n_id: Tensor, sens: Tensor, dose: Tensor) -> Tensor:
        result, features = ego.adjacency, self._x[0]
        stays = sens == ego.sens
        found = stays[..., :, None] & stays[..., None, :]
        for values, index in self._worlds:
            agrees = values[n_id] == sens
            here = agrees[..., :, None] & agrees[..., None, :] & ~found
            result = torch.where(here, index.batch(n_id[:, 0], features).adjacency, result)
            found |= here
        kept = torch.triu(torch.rand_like(result) >= dose[..., None, None], diagonal=1)
        return torch.where(kept | kept.transpose(-1, -2), ego.adjacency, result)


def _whole(sens: Tensor, dose: Tensor | None) -> Tensor:
    return torch.ones(sens.shape[:-1], device=sens.device) if dose is None else dose

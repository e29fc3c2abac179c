"""What Gear minimises: the same people in factual and perturbed egos, embedded in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.gear_config import GearConfig, Regime
from fairgear.methods.gear_network import GearNetwork
from fairgear.methods.generators import (
    Ego,
    Generator,
    VaeGenerator,
    neighbor_perturbed,
    self_perturbed,
)
from fairgear.methods.pressure import Pressure
from fairgear.nn import objectives


@dataclass(frozen=True)
class Views:
    """Embeddings and logits of the same people in the factual and the perturbed egos."""

    z: Tensor
    logits: Tensor
    own: tuple[Tensor, Tensor] | None
    """Self-perturbed."""
    around: tuple[Tensor, Tensor] | None
    """Neighbour-perturbed, (draws, B, …)."""


class GearLoss(nn.Module):
    """L = L_p + λ L_f + (1 + π/4)·weight·(logit inconsistency) + π·R² (+ the encoder's own term).

    π is the pressure on R². A module that holds the networks it asks, so that the weights of
    several seeds can take their place at once.
    """

    def __init__(
        self,
        network: GearNetwork,
        generator: Generator | None,
        config: GearConfig,
        regime: Regime,
    ) -> None:
        super().__init__()
        self.network = network
        self.generator = generator
        self.vae = generator.vae if isinstance(generator, VaeGenerator) else None
        # A recorded step reads it anew on the card; from the CPU it would be read once.
        self.pressure = Pressure(config.r2_limit)
        self.pressure.to(next(network.parameters()).device)
        self.config = config
        self.regime = regime

    def forward(
        self, anyone: Ego, sens_around: Tensor, labelled: Ego, y: Tensor
    ) -> objectives.Terms:
        """The terms on a batch of all people, and of labelled people whose labels are `y`.

        `sens_around` is the mean of s over each of the former and their neighbours.
        """
        views, logits = self.views(anyone, also=labelled)
        parts = {"prediction": F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))}
        parts |= self.fairness(views)
        if self.pressure.limited:
            parts["dependence"] = objectives.dependence(views.logits, sens_around)
        auxiliary = self.network.encoder.auxiliary_loss(
            self.network.inputs(labelled), labelled.adjacency, labelled.mask
        )
        if auxiliary is not None:
            parts["infomax"] = auxiliary
        return objectives.weighted(
            parts,
            {
                "fairness": self.config.fairness_weight,
                "consistency": self.regime.logit_weight * self.pressure.firmness,
                "dependence": self.pressure.weight,
            },
        )

    def fairness(self, views: Views) -> dict[str, Tensor]:
        """L_f and the inconsistency of the logits, over the perturbations that take part."""
        distances, gaps = [], []
        share = self.config.neighbor_weight
        apart = objectives.logit_inconsistency
        if self.regime.consistency == "boundary":
            apart = objectives.boundary_inconsistency
        if views.own is not None:
            distances.append((1 - share) * self.network.distance(views.z, views.own[0]))
            gaps.append(apart(views.logits, views.own[1]))
        if views.around is not None:
            z, logits = views.around
            distances.append(share * self.network.distance(views.z, z.mean(dim=0)))
            gaps.append(apart(views.logits[None], logits))
        if not distances:
            return {}
        parts = {"fairness": torch.stack(distances).sum()}
        if self.regime.logit_weight > 0:
            parts["consistency"] = torch.stack(gaps).mean()
        return parts

    def views(self, ego: Ego, also: Ego | None = None) -> tuple[Views, Tensor]:
        """Factual and perturbed egos, and the logits of the egos `also`, in one pass."""
        asked = self._asked(ego)
        # Validation asks what becomes of the egos as they are, so those stay without noise.
        batches = [self._noisy(ego) if self.training else ego]
        if asked is not None:
            batches.append(self._noisy(self._perturbed(ego, asked).flat()))
        batches += [self._noisy(also)] if also is not None else []
        z, logits = self.network(joined(batches))
        draws = 0 if asked is None else len(asked)
        sizes = [len(ego)] * (1 + draws) + ([len(also)] if also is not None else [])
        zs, ls = list(z.split(sizes)), list(logits.split(sizes))
        last = ls.pop() if also is not None else ls[0]
        own = (zs[1], ls[1]) if self.config.perturbs_self else None
        begin = 1 + int(self.config.perturbs_self)
        around = None
        if begin < 1 + draws:
            around = (torch.stack(zs[begin : 1 + draws]), torch.stack(ls[begin:]))
        return Views(zs[0], ls[0], own, around), last

    def _asked(self, ego: Ego) -> Tensor | None:
        """The values of s (views, B, k) to ask the generator about: own first, then neighbours'."""
        asked = [self_perturbed(ego)] if self.config.perturbs_self else []
        if self.config.perturbs_neighbors:
            asked += [neighbor_perturbed(ego) for _ in range(self.config.neighbor_draws)]
        return torch.stack(asked) if asked else None

    def _perturbed(self, ego: Ego, asked: Tensor) -> Ego:
        assert self.generator is not None
        low = self.config.least_dose
        dose = low + (1 - low) * torch.rand(asked.shape[:2], device=ego.x.device)
        return self.generator.counterfactual(ego, asked, dose)

    def _noisy(self, ego: Ego) -> Ego:
        """Training egos lose a share of their edges and gain as many elsewhere.

        The share is drawn for each ego up to `edge_noise`: an encoder that gives the same answer
        whatever the share does not lean on edges that another world would not have.
        """
        if self.config.edge_noise == 0:
            return ego
        share = self.config.edge_noise * torch.rand(len(ego), 1, 1, device=ego.x.device)
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        possible = (pairs.sum(dim=(1, 2)) - ego.mask.sum(dim=1)).clamp(min=1)
        density = (ego.adjacency.sum(dim=(1, 2)) / possible)[:, None, None]
        chance = torch.where(ego.adjacency > 0, 1 - share, share * density)
        upper = torch.triu(torch.rand_like(chance) < chance, diagonal=1) & pairs
        adjacency = (upper | upper.transpose(1, 2)).to(ego.x.dtype)
        return replace(ego, adjacency=adjacency)


def flip_rate(views: Views, cut: float = 0.0) -> float:
    """The share of labels that the perturbations flip, where those of logits above `cut` are 1."""
    label = views.logits > cut
    flips = []
    if views.own is not None:
        flips.append(((views.own[1] > cut) != label).double().mean())
    if views.around is not None:
        flips.append(((views.around[1] > cut) != label).double().mean())
    return float(torch.stack(flips).mean()) if flips else 0.0


def joined_views(parts: list[Views]) -> Views:
    """The views of several chunks of people as those of all."""

    def both(pairs: list[tuple[Tensor, Tensor] | None], dim: int) -> tuple[Tensor, Tensor] | None:
        present = [pair for pair in pairs if pair is not None]
        if not present:
            return None
        z, logits = zip(*present, strict=True)
        return torch.cat(z, dim=dim), torch.cat(logits, dim=dim)

    return Views(
        torch.cat([part.z for part in parts]),
        torch.cat([part.logits for part in parts]),
        both([part.own for part in parts], 0),
        both([part.around for part in parts], 1),
    )


def joined(egos: list[Ego]) -> Ego:
    """Several batches as one, for the network: whose egos they are, it does not ask."""
    return Ego(
        *(
            torch.cat([getattr(ego, key) for ego in egos])
            for key in ("x", "sens", "adjacency", "mask")
        )
    )

"""What Gear minimises: the same people in factual and perturbed egos, embedded in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.egos import Ego, neighbor_perturbed, self_perturbed
from fairgear.methods.gear.config import GearConfig, Recipe
from fairgear.methods.gear.generator import Generator
from fairgear.methods.gear.network import GearNetwork
from fairgear.nn import objectives

# Constants of the dependence penalty. Growth of its integral per step and relative excess of R²,
_RATE = 0.014
# weight of the present excess: R² reacts late, and would oscillate without it,
_DAMPING = 1.4
# the least limit that an excess is relative to,
_LEAST = 0.01
# the largest weight: above it, nothing but R² would be learned,
_MOST = 10.0
# growth of the logit term per unit of weight,
_ALONG = 0.25
# and the price of a unit of excess R² in the score of a state, in AUROC.
_PRICE = 10.0


class DependencePenalty(nn.Module):
    """The weight of R² in the loss, which keeps R² on the validation set at a limit.

    Dual ascent with damping: above the limit the weight grows with each validation, below it the
    weight shrinks again, so that training ends with R² at the limit. A fixed weight would also
    cost accuracy on graphs where R² is small anyway. A module, so that checkpoints hold its state
    and a captured step reads it anew. A limit of 1 allows all.
    """

    integral: Tensor
    weight: Tensor

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit
        self.register_buffer("integral", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    @property
    def active(self) -> bool:
        """Whether there is a limit."""
        return self.limit < 1

    @torch.no_grad()
    def update(self, r2: float, steps: int) -> None:
        """Adapt the weight to the R² after that many more steps."""
        above = (r2 - self.limit) / max(self.limit, _LEAST)
        self.integral.add_(_RATE * steps * above).clamp_(0.0, _MOST)
        self.weight.copy_((self.integral + _DAMPING * above).clamp(0.0, _MOST))

    @property
    def logit_factor(self) -> Tensor:
        """Factor of the logit term: labels with less R² lie closer to the decision boundary."""
        return 1 + _ALONG * self.weight

    def price(self, r2: float) -> float:
        """What is subtracted from the score of a state with that R²."""
        return _PRICE * max(0.0, r2 - self.limit)


def adjusted(r2: float, people: int) -> float:
    """R² adjusted for the number of people."""
    return 1 - (1 - r2) * (people - 1) / (people - 2) if people > 2 else 0.0


@dataclass(frozen=True)
class Views:
    """The same people in factual egos, then `own` self-perturbed and neighbour-perturbed ones."""

    z: tuple[Tensor, ...]
    """(B, dim) each."""
    logits: tuple[Tensor, ...]
    """(B,) each."""
    own: int
    """Self-perturbed views: 0 or 1."""

    def parts(self) -> list[slice]:
        """The self-perturbed and the neighbour-perturbed views, where there are any."""
        first = 1 + self.own
        found = [slice(1, first), slice(first, len(self.z))]
        return [part for part in found if part.start < part.stop]

    def flip_rate(self, cut: float = 0.0) -> float:
        """The share of labels, 1 for logits above `cut`, that the perturbations flip."""
        labels = [logits > cut for logits in self.logits]
        flips = [(torch.stack(labels[part]) != labels[0]).double().mean() for part in self.parts()]
        return float(torch.stack(flips).mean()) if flips else 0.0


@dataclass(frozen=True)
class GearLoss:
    """L = L_p + λ L_f + (1 + π/4)·weight·(logit inconsistency) + π·R² (+ the encoder's own term).

    π is the weight of the dependence penalty.
    """

    network: GearNetwork
    generator: Generator | None
    config: GearConfig
    recipe: Recipe
    penalty: DependencePenalty

    def __call__(
        self, anyone: Ego, sens_around: Tensor, labelled: Ego, y: Tensor
    ) -> objectives.Terms:
        """The terms on a batch of all people, and of labelled people whose labels are `y`.

        `sens_around` is the mean of s over each of the former and their neighbours.
        """
        views, logits = self.views(anyone, labelled)
        parts = {"prediction": F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))}
        parts |= self.fairness(views)
        if self.penalty.active:
            parts["dependence"] = objectives.dependence(views.logits[0], sens_around)
        auxiliary = self.network.encoder.auxiliary_loss(
            self.network.inputs(labelled), labelled.adjacency, labelled.mask
        )
        if auxiliary is not None:
            parts["infomax"] = auxiliary
        return objectives.weighted(
            parts,
            {
                "fairness": self.config.fairness_weight,
                "consistency": self.recipe.logit_weight * self.penalty.logit_factor,
                "dependence": self.penalty.weight,
            },
        )

    def fairness(self, views: Views) -> dict[str, Tensor]:
        """L_f and the inconsistency of the logits, over the perturbations that take part."""
        distances, gaps = [], []
        gap = objectives.logit_inconsistency
        if self.recipe.consistency == "boundary":
            gap = objectives.boundary_inconsistency
        for part in views.parts():
            is_own = views.own and part.start == 1
            share = 1 - self.config.neighbor_weight if is_own else self.config.neighbor_weight
            other = torch.stack(views.z[part]).mean(dim=0)
            distances.append(share * objectives.cosine_distance(views.z[0], other))
            gaps.append(gap(views.logits[0][None], torch.stack(views.logits[part])))
        if not distances:
            return {}
        parts = {"fairness": torch.stack(distances).sum()}
        if self.recipe.logit_weight > 0:
            parts["consistency"] = torch.stack(gaps).mean()
        return parts

    def views(self, ego: Ego, labelled: Ego) -> tuple[Views, Tensor]:
        """Factual and perturbed egos, and the logits of labelled egos, in one pass."""
        sens = self._perturbed_sens(ego)
        batches = [self._noisy(ego), *self._perturbed(ego, sens), self._noisy(labelled)]
        z, logits = self.network(concatenated(batches))
        rest = len(z) - len(labelled)
        return self._split(z[:rest], logits[:rest], len(ego)), logits[rest:]

    def validation_views(self, ego: Ego) -> Views:
        """Factual egos without noise, and perturbed ones."""
        perturbed = self._perturbed(ego, self._perturbed_sens(ego))
        z, logits = self.network(concatenated([ego, *perturbed]))
        return self._split(z, logits, len(ego))

    def _split(self, z: Tensor, logits: Tensor, people: int) -> Views:
        # Split rather than indexed, which would add up gradients in another order.
        zs, every = torch.split(z, people), torch.split(logits, people)
        return Views(zs, every, self.config.perturbs_self)

    def _perturbed_sens(self, ego: Ego) -> Tensor | None:
        """The values of s (views, B, k) to generate for: own first, then neighbours'."""
        found = [self_perturbed(ego)] if self.config.perturbs_self else []
        if self.config.perturbs_neighbors:
            found += [neighbor_perturbed(ego) for _ in range(self.config.neighbor_draws)]
        return torch.stack(found) if found else None

    def _perturbed(self, ego: Ego, sens: Tensor | None) -> list[Ego]:
        if sens is None:
            return []
        assert self.generator is not None
        # Where s undoes part of the shift, smaller doses are no counterfactuals to be ignored.
        share = 1.0 if self.config.erase is None else self.config.erase
        low = 1 - share * (1 - self.recipe.min_dose)
        dose = low + (1 - low) * torch.rand(sens.shape[:2], device=ego.x.device)
        return [self._noisy(self.generator.counterfactual(ego, sens, dose).flat())]

    def _noisy(self, ego: Ego) -> Ego:
        """Egos that lost a share of their edges and gained as many elsewhere.

        The share is drawn for each ego up to `edge_noise`: an encoder whose output does not
        depend on it does not rely on edges that another world would not have.
        """
        if self.recipe.edge_noise == 0:
            return ego
        share = self.recipe.edge_noise * torch.rand(len(ego), 1, 1, device=ego.x.device)
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        possible = (pairs.sum(dim=(1, 2)) - ego.mask.sum(dim=1)).clamp(min=1)
        density = (ego.adjacency.sum(dim=(1, 2)) / possible)[:, None, None]
        chance = torch.where(ego.adjacency > 0, 1 - share, share * density)
        upper = torch.triu(torch.rand_like(chance) < chance, diagonal=1) & pairs
        adjacency = (upper | upper.transpose(1, 2)).to(ego.x.dtype)
        return replace(ego, adjacency=adjacency)


def concatenated(egos: list[Ego]) -> Ego:
    """Several batches as one, without n_id."""
    parts = zip(*((ego.x, ego.sens, ego.adjacency, ego.mask) for ego in egos), strict=True)
    return Ego(*(torch.cat(part) for part in parts))

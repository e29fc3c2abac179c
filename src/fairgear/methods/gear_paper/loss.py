"""What GearPaper minimises: the same people in factual and perturbed egos, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairgear.methods.egos import (
    TWO_GROUPS,
    Ego,
    EgoGenerator,
    SensValues,
    neighbor_perturbed,
    self_perturbed,
)
from fairgear.methods.gear_paper.config import GearPaperConfig
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.heads import BINARY_HEAD, Head
from fairgear.nn import objectives


@dataclass(frozen=True)
class Views:
    """The same people in factual egos, then `own` self-perturbed and neighbour-perturbed ones."""

    z: tuple[Tensor, ...]
    """(B, dim) each."""
    logits: tuple[Tensor, ...]
    """(B,) each, or (B, classes)."""
    own: int
    """Self-perturbed views: 0 or 1."""
    head: Head = BINARY_HEAD

    def parts(self) -> list[slice]:
        """The self-perturbed and the neighbour-perturbed views, where there are any."""
        first = 1 + self.own
        found = [slice(1, first), slice(first, len(self.z))]
        return [part for part in found if part.start < part.stop]

    def flip_rate(self, cut: Tensor | float = 0.0) -> float:
        """The share of answers at the boundary `cut` that the perturbations change."""
        head, at = self.head, torch.as_tensor(cut)
        answers = [head.labels(logits, at.to(logits.device)) for logits in self.logits]
        flips = [
            head.differ(torch.stack(answers[part]), answers[0]).double().mean()
            for part in self.parts()
        ]
        return float(torch.stack(flips).mean()) if flips else 0.0


@dataclass(frozen=True)
class PaperLoss:
    """L_p + λ L_f (+ the encoder's own term); the optimiser adds μ‖θ‖²."""

    network: PaperNetwork
    generator: EgoGenerator | None
    config: GearPaperConfig
    head: Head = BINARY_HEAD
    values: SensValues = TWO_GROUPS

    def __call__(self, anyone: Ego, labelled: Ego, y: Tensor) -> objectives.Terms:
        """The terms on a batch of all people, and of labelled people whose labels are `y`."""
        views, logits = self.views(anyone, labelled)
        parts = {"prediction": self.head.loss(logits, y)}
        parts |= self.fairness(views)
        auxiliary = self.network.encoder.auxiliary_loss(
            self.network.inputs(labelled), labelled.adjacency, labelled.mask
        )
        if auxiliary is not None:
            parts["infomax"] = auxiliary
        return objectives.weighted(parts, {"fairness": self.config.fairness_weight})

    def fairness(self, views: Views) -> dict[str, Tensor]:
        """L_f over the perturbations that take part, if any does."""
        distances = []
        for part in views.parts():
            is_own = views.own and part.start == 1
            share = 1 - self.config.neighbor_weight if is_own else self.config.neighbor_weight
            other = torch.stack(views.z[part]).mean(dim=0)
            distances.append(share * objectives.cosine_distance(views.z[0], other))
        return {"fairness": torch.stack(distances).sum()} if distances else {}

    def views(self, ego: Ego, labelled: Ego) -> tuple[Views, Tensor]:
        """Factual and perturbed egos, and the logits of labelled egos, in one pass."""
        z, logits = self.network(_concatenated([ego, *self._perturbed(ego), labelled]))
        rest = len(z) - len(labelled)
        return self._split(z[:rest], logits[:rest], len(ego)), logits[rest:]

    def validation_views(self, ego: Ego) -> Views:
        """Factual and perturbed egos."""
        z, logits = self.network(_concatenated([ego, *self._perturbed(ego)]))
        return self._split(z, logits, len(ego))

    def _split(self, z: Tensor, logits: Tensor, people: int) -> Views:
        # Split rather than indexed, which would add up gradients in another order.
        zs, every = torch.split(z, people), torch.split(logits, people)
        return Views(zs, every, self.config.perturbs_self, self.head)

    def _perturbed(self, ego: Ego) -> list[Ego]:
        """The egos under the own perturbation, then under those of the neighbours, as one batch."""
        found = [self_perturbed(ego, self.values)] if self.config.perturbs_self else []
        if self.config.perturbs_neighbors:
            draws = range(self.config.neighbor_draws)
            found += [neighbor_perturbed(ego, self.values) for _ in draws]
        if not found:
            return []
        assert self.generator is not None
        sens = torch.stack(found)
        # Nothing uses this draw. Without it all later ones, and so every published row, would be
        # others.
        torch.rand(sens.shape[:2], device=ego.x.device)
        return [self.generator.counterfactual(ego, sens).flat()]


def _concatenated(egos: list[Ego]) -> Ego:
    """Several batches as one, without n_id."""
    parts = zip(*((ego.x, ego.sens, ego.adjacency, ego.mask) for ego in egos), strict=True)
    return Ego(*(torch.cat(part) for part in parts))

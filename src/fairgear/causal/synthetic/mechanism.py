"""The structural equations of a sampled graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fairgear.causal.synthetic.settings import SyntheticSettings
from fairgear.graph import closed_neighborhood_mean

# Neighbours' scores in steps of this: their sums are exact, so the same in any order.
STEP = 2.0**-20


@dataclass(frozen=True, eq=False)
class SyntheticMechanism:
    """What a sampled graph keeps so that its counterfactuals can be computed exactly.

    `graph.latent` holds Z and, where features are noisy, E beside it.

    Example:
        >>> from fairgear.causal import sample
        >>> mechanism = sample(seed=0).mechanism
        >>> mechanism.settings.n, tuple(mechanism.v.shape)
        (2000, (25,))
    """

    settings: SyntheticSettings
    v: Tensor = field(repr=False)
    w: Tensor = field(repr=False)
    columns: Tensor = field(repr=False)
    stretch: Tensor = field(repr=False)
    skew: Tensor = field(repr=False)
    label_threshold: float
    cuts: Tensor | None = field(default=None, repr=False)
    """Of the scores between several classes."""

    def labels(self, scores: Tensor) -> Tensor:
        """Classes from the scores, or the scores themselves."""
        if self.settings.number:
            return scores
        if self.cuts is None:
            return (scores > self.label_threshold).long()
        return (scores[:, None] > self.cuts.to(scores.device)).sum(dim=1)

    def known_scores(self, scores: Tensor) -> SyntheticMechanism:
        """The same equations with the thresholds of the factual scores."""
        parts = torch.arange(1, self.settings.classes, dtype=torch.float64) / self.settings.classes
        cuts = torch.quantile(scores.cpu(), parts) if self.settings.classes > 2 else None
        return replace(self, label_threshold=float(scores.mean()), cuts=cuts)

    def scores(
        self, latent: Tensor, sens: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """The label's score before it is compared with the threshold."""
        own = self.own_scores(latent)
        parts = self.spread(own, sens)
        around = (closed_neighborhood_mean(part, edge_index, edge_weight) for part in parts)
        return self.total(own, *around)

    def total(self, own: Tensor, sens_around: Tensor, own_around: Tensor) -> Tensor:
        """The score from a person's own part and the means of `spread` around them."""
        steps = (self.settings.groups - 1) * max(1, self.settings.second_groups - 1)
        weight = self.settings.w_s / steps
        return own + weight * sens_around + self.settings.w_n * own_around

    def spread(self, own: Tensor, sens: Tensor) -> tuple[Tensor, Tensor]:
        """What of a person enters the scores of their neighbours; sums are exact."""
        return self._height(sens), (own / STEP).round() * STEP

    def _height(self, sens: Tensor) -> Tensor:
        """What the label takes of s, in steps whose sums are exact."""
        if self.settings.continuous:
            return (sens / STEP).round() * STEP
        if self.settings.second_groups == 1:
            return sens.double()
        first, second = self.settings.groups - 1, self.settings.second_groups - 1
        return (sens // (second + 1) * second + sens % (second + 1) * first).double()

    def own_scores(self, latent: Tensor) -> Tensor:
        """The part of the score that is a person's own."""
        # Summed row by row, not by a matrix product: a row's sum must not depend on its place.
        return (self.traits(latent) * self.w.to(latent.device)).sum(dim=1)

    def traits(self, latent: Tensor) -> Tensor:
        """Z, without the noise of the features."""
        return latent[:, : self.settings.d_z]

    def features(self, latent: Tensor, sens: Tensor) -> Tensor:
        """The sensitive column, then d columns: what is seen of Z, as the group's shape has it."""
        v, columns = self.v.to(latent.device), self.columns.to(latent.device)
        one = sens.to(latent.dtype)[:, None]
        moved = one * v if v.dim() == 1 else v[sens]
        seen = latent[:, columns]
        if self.settings.noise:
            seen = seen + self.settings.noise * latent[:, self.settings.d_z :]
        if self.settings.shape:
            # Sums, products and roots alone: they round the same wherever a row stands.
            skew, stretch = self.skew.to(latent.device), self.stretch.to(latent.device)
            bent = stretch * (seen + skew * (1 + seen * seen).sqrt())
            if self.settings.continuous:
                seen = seen + one * (bent - seen)
            else:
                seen = torch.where(one >= 1, bent, seen)
        return torch.cat([one, seen + moved], dim=1).float()

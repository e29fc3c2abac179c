"""The shared encoder and the classifier that Gear trains, and their inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.methods.egos import Ego
from fairgear.methods.features import Erasure, FeatureScaler
from fairgear.methods.gear.config import GearConfig, Recipe
from fairgear.methods.gear.inputs import RankScores, UnitRows
from fairgear.nn import ENCODERS, Classifier


class GearNetwork(nn.Module):
    """The shared encoder φ, the classifier f, and what prepares an ego for them."""

    def __init__(self, features: int, config: GearConfig, recipe: Recipe) -> None:
        super().__init__()
        self.use_sens = recipe.use_sens
        self.erasure = None if config.erase is None else Erasure(features, config.erase)
        self.unit_rows = UnitRows(features) if recipe.row_norm else None
        self.ranks = RankScores(features) if recipe.ranks else None
        width = (1 + recipe.ranks) * features + recipe.use_sens
        self.encoder = ENCODERS[config.encoder](width, config.dim, recipe.layers, recipe.dropout)
        self.classifier = Classifier(config.dim, config.dim, recipe.dropout)

    def fit_inputs(
        self, x: Tensor, sens: Tensor, scaler: FeatureScaler, shift: Tensor | None
    ) -> None:
        """Learn from scaled features without labels how they are prepared.

        `shift` is the direction to erase; the difference of the groups' means if None.
        """
        if self.erasure is not None:
            self.erasure.fit(x, sens, shift)
        if self.unit_rows is not None:
            self.unit_rows.fit(x, sens, scaler, self.erasure)
        if self.ranks is not None:
            self.ranks.fit(self._prepared(x, sens))

    def inputs(self, ego: Ego) -> Tensor:
        """What the encoder sees of each member."""
        x = self._prepared(ego.x, ego.sens)
        parts = [x]
        if self.ranks is not None:
            parts.append(self.ranks(x))
        if self.use_sens:
            parts.append(ego.sens[..., None].to(x.dtype))
        whole = x if len(parts) == 1 else torch.cat(parts, dim=-1)
        return whole * ego.mask[..., None]

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Embeddings (B, dim) and logits (B,) of the centres."""
        z = self.encoder(self.inputs(ego), ego.adjacency, ego.mask)
        return z, self.classifier(z)

    def _prepared(self, x: Tensor, sens: Tensor) -> Tensor:
        """Scaled features without the groups' difference, at unit norm if the recipe says so."""
        if self.unit_rows is not None:
            x = self.unit_rows(x, sens, self.erasure)
        elif self.erasure is not None:
            x = self.erasure(x, sens)
        return x

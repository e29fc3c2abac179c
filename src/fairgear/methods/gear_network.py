"""GearNetwork: the shared encoder and the classifier that Gear trains, and what they are fed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.methods.gear_config import GearConfig, Regime
from fairgear.methods.generators import Ego
from fairgear.methods.inputs import Erasure, FeatureScaler, UnitRows
from fairgear.methods.rank_scores import RankScores
from fairgear.nn import ENCODERS, Classifier, objectives, projection_head


class GearNetwork(nn.Module):
    """The shared encoder φ, the classifier f, and what prepares an ego for them."""

    def __init__(self, features: int, config: GearConfig, regime: Regime) -> None:
        super().__init__()
        self.use_sens = config.use_sens
        self.erasure = None if config.erase is None else Erasure(features, config.erase)
        self.unit_rows = UnitRows(features) if regime.normalize_rows else None
        self.ranks = None if regime.ranks == "unseen" else RankScores(features)
        self.values = regime.ranks != "alone"
        kinds = int(self.values) + int(self.ranks is not None)
        width = kinds * features + int(config.use_sens)
        self.encoder = ENCODERS[config.encoder](width, config.dim, regime.layers, regime.dropout)
        self.classifier = Classifier(config.dim, config.dim, regime.dropout)
        self.projector = projection_head(config.dim) if config.projection_heads else None
        self.predictor = projection_head(config.dim) if config.projection_heads else None

    def fit_inputs(
        self, x: Tensor, sens: Tensor, scaler: FeatureScaler, shift: Tensor | None
    ) -> None:
        """Learn from all people, without labels, what is done to their features first.

        Args:
            x: scaled features.
            sens: their groups.
            scaler: what scaled them.
            shift: the direction to erase; the difference of the groups' means if None.
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
        seen = [x] if self.values else []
        if self.ranks is not None:
            seen.append(self.ranks(x))
        if self.use_sens:
            seen.append(ego.sens[..., None].to(x.dtype))
        whole = seen[0] if len(seen) == 1 else torch.cat(seen, dim=-1)
        return whole * ego.mask[..., None]

    def _prepared(self, x: Tensor, sens: Tensor) -> Tensor:
        """Scaled features without what the groups differ by, at unit length if asked for."""
        if self.unit_rows is not None:
            x = self.unit_rows(x, sens, self.erasure)
        elif self.erasure is not None:
            x = self.erasure(x, sens)
        return x

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Embeddings (B, dim) and logits (B,) of the centres."""
        z = self.encoder(self.inputs(ego), ego.adjacency, ego.mask)
        return z, self.classifier(z)

    def distance(self, z: Tensor, other: Tensor) -> Tensor:
        """The cosine distance of two embeddings of the same people, behind the heads if any."""
        if self.projector is None or self.predictor is None:
            return objectives.cosine_distance(z, other)
        one, two = self.projector(z), self.projector(other)
        forth = objectives.cosine_distance(self.predictor(one), two.detach())
        back = objectives.cosine_distance(self.predictor(two), one.detach())
        return (forth + back) / 2

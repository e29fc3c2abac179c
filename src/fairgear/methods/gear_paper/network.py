"""The shared encoder and the classifier that GearPaper trains."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.methods.egos import Ego
from fairgear.methods.gear_paper.config import DROPOUT, LAYERS, GearPaperConfig
from fairgear.nn import ENCODERS, Classifier, SensCode


class PaperNetwork(nn.Module):
    """The shared encoder φ and the classifier f. The encoder sees s."""

    def __init__(
        self,
        features: int,
        config: GearPaperConfig,
        dropout: float = DROPOUT,
        *,
        code: SensCode | None = None,
        outputs: int = 1,
    ) -> None:
        super().__init__()
        self.code = SensCode() if code is None else code
        inputs = features + self.code.width
        self.encoder = ENCODERS[config.encoder](inputs, config.dim, LAYERS, dropout)
        self.classifier = Classifier(config.dim, config.dim, dropout, outputs)

    def inputs(self, ego: Ego) -> Tensor:
        """What the encoder sees of each member: the features and φ(s)."""
        both = torch.cat([ego.x, self.code(ego.sens).to(ego.x.dtype)], dim=-1)
        return both * ego.mask[..., None]

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Embeddings (B, dim) and logits (B,) or (B, outputs) of the centres."""
        z = self.encoder(self.inputs(ego), ego.adjacency, ego.mask)
        return z, self.classifier(z)

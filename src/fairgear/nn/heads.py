"""What reads an embedding: the classifier f, and the optional projector and predictor."""

from __future__ import annotations

from torch import Tensor, nn

from fairgear.nn.dropout import Dropout


class Classifier(nn.Module):
    """f: a two-layer MLP with batch norm and ReLU; one logit a person."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            Dropout(dropout),
            nn.Linear(hidden, 1),
        )

    def forward(self, z: Tensor) -> Tensor:
        """Logits (B,)."""
        logits: Tensor = self.layers(z)
        return logits[:, 0]


def projection_head(width: int) -> nn.Sequential:
    """A projector or predictor: linear, batch norm, ReLU, linear."""
    return nn.Sequential(
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
    )

"""What reads an embedding: the classifier f, with a dropout that is fast on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_LEVELS = 256


class Classifier(nn.Module):
    """f: a two-layer MLP with batch norm and ReLU; one logit a person, or several.

    Example:
        >>> import torch
        >>> from fairgear.nn import Classifier
        >>> tuple(Classifier(width=16, hidden=8, dropout=0.0)(torch.zeros(5, 16)).shape)
        (5,)
    """

    def __init__(self, width: int, hidden: int, dropout: float, outputs: int = 1) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.dropout = dropout
        self.last = nn.Linear(hidden, outputs)

    def forward(self, z: Tensor) -> Tensor:
        """Logits (B,), or (B, outputs) where there are several."""
        logits: Tensor = self.last(dropout(self.hidden(z), self.dropout, self.training))
        return logits[:, 0] if logits.shape[1] == 1 else logits


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """`x` with a share `p` of its values zero and the rest scaled up, in training.

    On a CPU, where drawing costs more than the layer, each value takes a random byte, and `p` is
    rounded to 1/256.
    """
    if p == 0 or not training:
        return x
    if x.is_cuda:
        return F.dropout(x, p, training)
    kept, rounded = keep_mask(x.shape, p)
    return x * (kept.to(x.dtype) / (1 - rounded))


def keep_mask(shape: Sequence[int], p: float) -> tuple[Tensor, float]:
    """A boolean mask, false with probability `p`, and `p` rounded to 1/256."""
    level = min(round(p * _LEVELS), _LEVELS - 1)
    size = torch.Size(shape).numel()
    # One int64 holds eight random bytes.
    words = torch.empty(-(-size // 8), dtype=torch.int64).random_(-(2**63), None)
    return (words.view(torch.uint8)[:size] >= level).view(*shape), level / _LEVELS

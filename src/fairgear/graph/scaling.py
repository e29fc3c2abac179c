"""Columns scaled to [−1, 1] by their own lowest and highest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """x = 2 (raw − low)/(high − low) − 1, one pair a column; constant columns become 0.

    Args:
        low, high: float64 (d,).
        kept: a column that stays as it is: the sensitive one.
    """

    low: Tensor
    high: Tensor
    kept: int | None = None

    @classmethod
    def of(cls, raw: Tensor, kept: int | None = None) -> Self:
        """The scale of a table (n, d)."""
        return cls(raw.min(dim=0).values, raw.max(dim=0).values, kept)

    def __call__(self, raw: Tensor) -> Tensor:
        """The scaled table, float32; values outside [low, high] go outside [−1, 1]."""
        low, high = self.low.to(raw), self.high.to(raw)
        span = high - low
        scaled = 2 * (raw - low) / torch.where(span > 0, span, 1.0) - 1
        scaled = torch.where(span > 0, scaled, raw - low)
        if self.kept is not None:
            scaled[:, self.kept] = raw[:, self.kept]
        return scaled.float()

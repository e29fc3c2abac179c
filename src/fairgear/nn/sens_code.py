"""φ(s): the sensitive attribute as networks and regressions read it."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

# The number of groups that stands for an attribute that is a number.
NUMBER = 0


class SensCode(nn.Module):
    """φ(s): s of two groups; an indicator of every group but the first; a standardised number.

    A module, so that mean and deviation of a number are saved and moved with the weights.

    Args:
        groups: how many there are; 0 for a number.

    Example:
        >>> import torch
        >>> from fairgear.nn import SensCode
        >>> SensCode(groups=3)(torch.tensor([0, 1, 2])).tolist()
        [[False, False], [True, False], [False, True]]
        >>> SensCode()(torch.tensor([0, 1])).tolist()
        [[0], [1]]
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, groups: int = 2) -> None:
        super().__init__()
        self.groups = groups
        if groups == NUMBER:
            self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
            self.register_buffer("scale", torch.ones((), dtype=torch.float64))

    @property
    def is_number(self) -> bool:
        """Whether s is a number."""
        return self.groups == NUMBER

    @property
    def width(self) -> int:
        """How many numbers φ(s) has."""
        return max(self.groups - 1, 1)

    def fit(self, sens: Tensor) -> Self:
        """Learn mean and deviation of a number from some people, summed in their order."""
        if self.is_number:
            scale = sens.std(correction=0)
            self.mean.copy_(sens.mean())
            self.scale.copy_(scale if float(scale) > 0 else torch.ones_like(scale))
        return self

    def forward(self, sens: Tensor) -> Tensor:
        """φ(s) (…, width) of values (…)."""
        if self.is_number:
            return ((sens - self.mean) / self.scale)[..., None]
        if self.groups == 2:
            return sens[..., None]
        return sens[..., None] == torch.arange(1, self.groups, device=sens.device)

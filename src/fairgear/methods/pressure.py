"""Pressure on a training loss: the weight of R², raised while a limit is not kept."""

from __future__ import annotations

import torch
from torch import nn

# What a step adds to the weight that is held, for each time that the limit is exceeded by itself.
_RATE = 0.014
# What counts beside it at once: R² answers late, and would swing around the limit without.
_AT_ONCE = 1.4
# Limits below are as strict as this one in these two; 0 would have no such times.
_LEAST = 0.01
# More than this and nothing but R² would be learned.
_MOST = 10.0
# How much heavier each unit of the weight makes the difference of logits.
_ALONG = 0.25
# What a unit of R² above the limit costs a state that may be kept, in AUROC.
_PRICE = 10.0


class Pressure(nn.Module):
    """The weight of R² in the loss: a multiplier that finds out how much the limit takes.

    Nothing while the limit is kept. Above it the weight grows with each look at the validation
    people, by as much as R² is above, and shrinks again below it: dual ascent with a damper, which
    ends where R² is at the limit. A fixed weight would cost those graphs too on which R² is small
    anyway.

    Args:
        limit: the R² that is allowed; 1 allows all.
    """

    held: torch.Tensor
    weight: torch.Tensor

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit
        self.register_buffer("held", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    @property
    def limited(self) -> bool:
        """Whether there is anything to keep down."""
        return self.limit < 1

    @torch.no_grad()
    def heed(self, r2: float, steps: int) -> None:
        """Look at the R² after so many more steps."""
        above = (r2 - self.limit) / max(self.limit, _LEAST)
        self.held.add_(_RATE * steps * above).clamp_(0.0, _MOST)
        self.weight.copy_((self.held + _AT_ONCE * above).clamp(0.0, _MOST))

    @property
    def firmness(self) -> torch.Tensor:
        """By how much heavier the difference of logits is to weigh, so that flips stay down.

        Labels that no longer follow who is around lie closer to the boundary.
        """
        return 1 + _ALONG * self.weight

    def price(self, r2: float) -> float:
        """What a state with that R² has to make up for elsewhere."""
        return _PRICE * max(0.0, r2 - self.limit)


def adjusted(r2: float, people: int) -> float:
    """R² less what chance alone would have among so few people."""
    return 1 - (1 - r2) * (people - 1) / (people - 2) if people > 2 else 0.0

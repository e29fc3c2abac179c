"""Parts of what Gear minimises: alike answers under the family, and no more R² than allowed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.methods.heads import BINARY_HEAD, Head

# The share of people who are moved where few are.
_FEW = 0.1
# How much the models with more inconsistency are drawn more often, and
_TILT = 1.0
# the share of a step in their running means.
_SHARE = 0.1
# Constants of the dependence penalty. Growth of its integral per step and relative excess of R²,
_RATE = 0.014
# weight of the present excess: R² reacts late, and would oscillate without it,
_DAMPING = 1.4
# the least limit that an excess is relative to,
_LEAST = 0.01
# the largest weight: above it, nothing but R² would be learned,
_MOST = 10.0
# and the price of a unit of excess R² in the score of a state, in AUROC.
_PRICE = 10.0


class ModelWeights(nn.Module):
    """How often each model of the family is drawn: w ∝ exp(running inconsistency / its mean).

    A module, so that checkpoints hold its state.
    """

    running: Tensor

    def __init__(self, models: int) -> None:
        super().__init__()
        self.register_buffer("running", torch.ones(models))

    def forward(self) -> Tensor:
        """The probabilities (models,)."""
        relative = self.running / self.running.mean().clamp(min=1e-12)
        return torch.softmax(_TILT * relative, dim=0)

    @torch.no_grad()
    def update(self, sums: Tensor, counts: Tensor) -> None:
        """Take in the inconsistency of a step, summed by model, and how often each was drawn."""
        seen = counts > 0
        mean = torch.where(seen, sums / counts.clamp(min=1), self.running)
        self.running.lerp_(mean, _SHARE)


class DependencePenalty(nn.Module):
    """The weight of R² in the loss, which keeps R² on the validation set at a limit.

    Dual ascent with damping: above the limit the weight grows with each validation, below it the
    weight shrinks again, so that training ends with R² at the limit. A limit of 1 allows all.

    Args:
        limit: of R².
        people: in the validation set; what so few show by chance is no excess.
        summaries: how many numbers R² is of.
    """

    integral: Tensor
    weight: Tensor

    def __init__(self, limit: float, people: int, summaries: int = 1) -> None:
        super().__init__()
        # R² on k summaries of n independent people is χ²(k)/n in a large sample, and for one or two
        # that is below (2 + 2k)/n with 95 %.
        self.limit = limit + ((2 + 2 * summaries) / people if limit < 1 else 0.0)
        self.register_buffer("integral", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    @property
    def active(self) -> bool:
        """Whether there is a limit."""
        return self.limit < 1

    @torch.no_grad()
    def update(self, r2: float, steps: int) -> None:
        """Adapt the weight to the R² after that many more steps."""
        above = (r2 - self.limit) / max(self.limit, _LEAST)
        self.integral.add_(_RATE * steps * above).clamp_(0.0, _MOST)
        self.weight.copy_((self.integral + _DAMPING * above).clamp(0.0, _MOST))

    def price(self, r2: float) -> float:
        """What is subtracted from the score of a state with that R²."""
        return _PRICE * max(0.0, r2 - self.limit)


def adjusted(r2: float, people: int, summaries: int = 1) -> float:
    """R² adjusted for the number of people, and of the numbers that it is of."""
    left = people - 1 - summaries
    return 1 - (1 - r2) * (people - 1) / left if left > 0 else 0.0


class Boundary(nn.Module):
    """What divides logits into answers, as it was at the last validation.

    A cut for two classes, offsets for several; numbers need none.
    """

    cut: Tensor

    def __init__(self, head: Head = BINARY_HEAD) -> None:
        super().__init__()
        self.head = head
        size = () if head.outputs == 1 else (head.outputs,)
        self.register_buffer("cut", torch.zeros(size))

    def forward(self, logits: Tensor) -> Tensor:
        """Answers: the closer a logit is to the boundary, the less decided."""
        return self.head.decided(logits, self.cut)


def together(sens: Tensor, target: Tensor, groups: int) -> list[Tensor]:
    """Masks (m,) of those who may be moved to their target at once.

    Those whom it puts in the same group, for each of the groups; of a number (no groups), those
    whom it lowers and those whom it raises, which for two groups is the same.
    """
    if not groups:
        return [target < sens, target > sens]
    return [target == to for to in range(groups)]


def assignment(sens: Tensor, target: Tensor, groups: int) -> Tensor:
    """New groups (m,): everybody in one of them, anybody in any, or a tenth in their target.

    Where a tenth are moved, most of these are moved alone among their neighbours, and most of
    their neighbours see somebody moved while they stay. Of a number: all whose target is lower,
    half of the people, all whose target is higher, or a tenth.
    """
    draw = torch.rand(sens.shape, device=sens.device)
    if not groups:
        lower, higher = together(sens, target, groups)
        kinds = (lower, draw < 1 / 2, higher, draw < _FEW)
        return torch.where(kinds[int(torch.randint(len(kinds), ()))], target, sens)
    kind = int(torch.randint(groups + 2, ()))
    if kind == groups + 1:
        return torch.where(draw < _FEW, target, sens)
    if kind == 1:
        return (groups - 1 - (draw * groups).long()).to(sens.dtype)
    return torch.full_like(sens, max(kind - 1, 0))

"""EvenLength: a length of people's features that is nearly the same for everybody."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

# Of more people than this, so many say what length is.
_PEOPLE = 2**15
# Products are taken along at most so many directions; along fewer where there would be fewer
# people than this to each of them.
_DIRECTIONS, _PEOPLE_EACH = 32, 10
# Of least squares, where features have unit variance.
_RIDGE = 1e-6
# How far from the middle half of a feature's spread is lost, one mending after the other: first
# what is told by tails, then what is told by small differences among most people.
_TAILS = (10.0, 3.0, 1.0)
_NOTHING = 1e-12


class EvenLength(nn.Module):
    """A length that grows with a factor common to all features of a person, and hardly else.

    Every length brings a factor to light, and whatever else it depends on is lost by dividing by
    it. So this one is made as even as it can be: from the root mean square of a person's features,
    what the features at that length tell about it is taken out, which no factor changes. Three
    times over; where columns add up to a constant next to nothing is left.
    """

    sizes: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("sizes", torch.ones(width))
        self.menders = nn.ModuleList([_Mender(width, tail) for tail in _TAILS])

    def fit(self, rows: Tensor) -> EvenLength:
        """Learn it from the features (n, d) of all people."""
        rows = rows[:: -(-len(rows) // _PEOPLE)].double()
        sizes = rows.square().mean(dim=0).sqrt()
        self.sizes.copy_(torch.where(sizes > _NOTHING, sizes, torch.ones_like(sizes)))
        # The mean logarithm is 0 from the first to the last length.
        self.sizes.mul_(self._first(rows).log().mean().exp())
        length = self._first(rows)
        for mender in self.menders:
            assert isinstance(mender, _Mender)
            mender.fit(rows / length[:, None], length)
            length = mender(rows, length)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """The lengths (…) of features (…, d)."""
        length = self._first(x)
        for mender in self.menders:
            length = mender(x, length)
        return length

    def _first(self, x: Tensor) -> Tensor:
        return (x / self.sizes).square().mean(dim=-1).sqrt().clamp(min=_NOTHING)


class _Mender(nn.Module):
    """Takes out of the logarithm of a length what is told about it by features at that length."""

    mean: Tensor
    spread: Tensor
    linear: Tensor
    directions: Tensor
    form: Tensor
    level: Tensor
    most: Tensor

    def __init__(self, width: int, tail: float) -> None:
        super().__init__()
        self.tail = tail
        kept = min(width, _DIRECTIONS)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))
        self.register_buffer("linear", torch.zeros(width))
        self.register_buffer("directions", torch.zeros(width, kept))
        self.register_buffer("form", torch.zeros(kept, kept))
        self.register_buffer("level", torch.zeros(()))
        self.register_buffer("most", torch.zeros(()))

    def fit(self, unit: Tensor, length: Tensor) -> None:
        """Learn by least squares, from features (n, d) at that length, and the lengths (n,)."""
        self.mean.copy_(unit.mean(dim=0))
        self.spread.copy_(spread_of(unit))
        z = self._drawn_in(unit)
        _, directions = torch.linalg.eigh(z.T @ z / len(z))
        # The largest come last.
        kept = min(self.directions.shape[1], math.isqrt(2 * len(z) // _PEOPLE_EACH))
        directions = directions[:, z.shape[1] - kept :]
        along = z @ directions
        one, two = torch.triu_indices(kept, kept, device=z.device)
        told = torch.cat([torch.ones_like(z[:, :1]), z, along[:, one] * along[:, two]], dim=1)
        logs = length.log()
        weights = _least_squares(told, logs)
        self.level.copy_(weights[0])
        self.linear.copy_(weights[1 : 1 + z.shape[1]])
        self.directions.zero_()[:, :kept] = directions.to(self.directions.dtype)
        self.form.zero_()[one, two] = weights[1 + z.shape[1] :].to(self.form.dtype)
        self.most.copy_(logs.abs().max())

    def forward(self, x: Tensor, length: Tensor) -> Tensor:
        """Lengths of features (…, d), from lengths (…)."""
        z = self._drawn_in(x / length[..., None])
        along = z @ self.directions.to(z.dtype)
        squares = ((along @ self.form.to(z.dtype)) * along).sum(dim=-1)
        told = self.level + z @ self.linear.to(z.dtype) + squares
        # Nobody's length is mended by more than anybody's was off.
        return length * torch.exp(-told.clamp(-self.most, self.most))

    def _drawn_in(self, unit: Tensor) -> Tensor:
        z = (unit - self.mean) / self.spread
        return z / (1 + z.abs() / self.tail)


def _least_squares(x: Tensor, target: Tensor) -> Tensor:
    """Weights (d,) with x·w as near to the target in all rows as a little ridge lets them be."""
    ridge = _RIDGE * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    weights: Tensor = torch.linalg.solve(x.T @ x / len(x) + ridge, x.T @ target / len(x))
    return weights


def spread_of(x: Tensor) -> Tensor:
    """Standard deviations; a constant column stays so: dividing by its rounding error would not."""
    deviation = x.std(dim=0, correction=0)
    return torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation))

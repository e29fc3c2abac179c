"""EvenLength: a length of people's features that is nearly the same for everybody."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fairgear.training import seeded

# Of more people than this, so many say what length is.
_PEOPLE = 2**15
# Products are taken along at most so many directions; no more weights are learned than leave so
# many people to each.
_DIRECTIONS, _PEOPLE_EACH = 32, 10
# Beyond this width the few directions that are needed are found without all others.
_WIDE = 256
# Of least squares, where features have unit variance.
_RIDGE = 1e-6
# Deviations from the mean that are halved, one mending after the other, and more beyond: at first
# tails tell, at last small differences among most people.
_TAILS = (10.0, 3.0, 1.0)
# People shorter than this share of the median are next to nothing, and say nothing.
_SHORT = 1e-4
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
        rows = _asked(rows).double()
        sizes = rows.square().mean(dim=0).sqrt()
        self.sizes.copy_(torch.where(sizes > _NOTHING, sizes, torch.ones_like(sizes)))
        first = self._first(rows)
        rows = rows[first > _SHORT * first.median()]
        # The mean logarithm is 0 from the first to the last length.
        self.sizes.mul_(self._first(rows).log().mean().exp())
        length = self._first(rows)
        for mender in self.menders:
            assert isinstance(mender, _Mender)
            mender.fit(rows / length[:, None], length, self.sizes)
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

    def fit(self, unit: Tensor, length: Tensor, sizes: Tensor) -> None:
        """Learn by least squares.

        Args:
            unit: (n, d), features at that length.
            length: (n,).
            sizes: (d,) of the features: what spreads far less is constant but for rounding.
        """
        self.mean.copy_(unit.mean(dim=0))
        self.spread.copy_(spread_of(unit, 1e-6 * sizes))
        z = self._drawn_in(unit)
        affordable = len(z) // _PEOPLE_EACH
        kept = min(self.directions.shape[1], math.isqrt(2 * affordable))
        few = affordable < z.shape[1]
        leading = _leading_directions(z, max(kept, affordable) if few else kept)
        directions = leading[:, leading.shape[1] - kept :]
        along = z @ directions
        # By themselves where there are people enough to tell the weight of each.
        alone = z @ leading if few else z
        one, two = torch.triu_indices(kept, kept, device=z.device)
        told = torch.cat([torch.ones_like(z[:, :1]), alone, along[:, one] * along[:, two]], dim=1)
        logs = length.log()
        weights = _least_squares(told, logs)
        linear = weights[1 : 1 + alone.shape[1]]
        self.level.copy_(weights[0])
        self.linear.copy_(leading @ linear if few else linear)
        self.directions.zero_()[:, :kept] = directions.to(self.directions.dtype)
        self.form.zero_()[one, two] = weights[1 + alone.shape[1] :].to(self.form.dtype)
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


def _asked(rows: Tensor) -> Tensor:
    """Some of the rows, drawn at random, in their order; all, where they are not too many."""
    if len(rows) <= _PEOPLE:
        return rows
    with seeded(0, "people who say what length is"):
        drawn = torch.randperm(len(rows))[:_PEOPLE]
    return rows[drawn.sort().values.to(rows.device)]


def _leading_directions(z: Tensor, most: int) -> Tensor:
    """Directions (d, m) of the largest sums of squares, the largest last."""
    if z.shape[1] > _WIDE and most < z.shape[1] // 4:
        with seeded(0, "directions of features"):
            found: Tensor = torch.svd_lowrank(z, q=most, niter=4)[2]
        return found.flip(1)
    _, directions = torch.linalg.eigh(z.T @ z / len(z))
    leading: Tensor = directions[:, z.shape[1] - most :]
    return leading


def _least_squares(x: Tensor, target: Tensor) -> Tensor:
    """Weights (d,) with x·w as near to the target in all rows as a little ridge lets them be."""
    ridge = _RIDGE * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    weights: Tensor = torch.linalg.solve(x.T @ x / len(x) + ridge, x.T @ target / len(x))
    return weights


def spread_of(x: Tensor, least: Tensor | float = 1e-6) -> Tensor:
    """Standard deviations; a constant column stays so: dividing by its rounding error would not."""
    deviation = x.std(dim=0, correction=0)
    return torch.where(deviation > least, deviation, torch.ones_like(deviation))

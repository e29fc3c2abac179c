"""What Gear's network sees of a person's features: rows of unit norm, and ranks."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fairgear.methods.features import Erasure, FeatureScaler, spread_of
from fairgear.methods.ranks import RankScores
from fairgear.training import seeded

__all__ = ["EvenNorm", "RankScores", "UnitRows"]

# A sample of this many people determines the row norm in larger graphs.
_PEOPLE = 2**15
# Products are taken along at most this many directions, with this many people per weight.
_DIRECTIONS, _PEOPLE_EACH = 32, 10
# Above this width, only the leading directions are computed.
_WIDE = 256
# Of the regression, for features of unit variance.
_RIDGE = 1e-6
# Deviations that are halved in the three corrections: first tails matter, then small differences.
_TAILS = (10.0, 3.0, 1.0)
# People with a norm below this share of the median are left out of the fit.
_SHORT = 1e-4
_TINY = 1e-12


class UnitRows(nn.Module):
    """Each person's features at unit norm, in the graph's own units: a common factor is removed.

    The groups' difference is erased before the norm is taken: where v is projected out, neither a
    move along v nor a factor changes the result.
    """

    shift: Tensor
    scale: Tensor
    mean: Tensor
    spread: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = EvenNorm(width)
        for name in ("shift", "mean"):
            self.register_buffer(name, torch.zeros(width))
        for name in ("scale", "spread"):
            self.register_buffer(name, torch.ones(width))

    def fit(
        self, x: Tensor, sens: Tensor, scaler: FeatureScaler, erasure: Erasure | None
    ) -> UnitRows:
        """Learn how to undo the scaler, the norm, and the scale of the result."""
        self.shift.copy_(scaler.mean / scaler.scale)
        self.scale.copy_(scaler.scale)
        self.norm.fit(self._own(x, sens, erasure))
        rows = self._unit(x, sens, erasure).double()
        self.mean.copy_(rows.mean(dim=0))
        self.spread.copy_(spread_of(rows))
        return self

    def forward(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        """Unit rows of scaled features, scaled again to zero mean and unit variance."""
        scaled: Tensor = (self._unit(x, sens, erasure) - self.mean) / self.spread
        return scaled

    def _unit(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        own = self._own(x, sens, erasure)
        unit: Tensor = own / self.norm(own)[..., None]
        return unit

    def _own(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        """Features in the graph's units, without the groups' difference."""
        x = x + self.shift
        own: Tensor = self.scale * (x if erasure is None else erasure(x, sens))
        return own


class EvenNorm(nn.Module):
    """A norm that is proportional to a common factor of a row and otherwise nearly constant.

    Dividing by a norm removes whatever the norm depends on besides the factor. So this one starts
    from the root mean square and removes what the unit rows, which no factor changes, predict of
    it, three times over. Where columns sum to a constant, next to nothing is left.
    """

    sizes: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("sizes", torch.ones(width))
        self.corrections = nn.ModuleList([_Correction(width, tail) for tail in _TAILS])

    def fit(self, rows: Tensor) -> EvenNorm:
        """Learn it from the features (n, d) of all people."""
        if len(rows) > _PEOPLE:
            with seeded(0, "people who say what length is"):
                drawn = torch.randperm(len(rows))[:_PEOPLE]
            rows = rows[drawn.sort().values.to(rows.device)]
        rows = rows.double()
        sizes = rows.square().mean(dim=0).sqrt()
        self.sizes.copy_(torch.where(sizes > _TINY, sizes, torch.ones_like(sizes)))
        first = self._first(rows)
        rows = rows[first > _SHORT * first.median()]
        # From here on, the mean logarithm of the norm is 0.
        self.sizes.mul_(self._first(rows).log().mean().exp())
        norm = self._first(rows)
        for correction in self.corrections:
            assert isinstance(correction, _Correction)
            correction.fit(rows / norm[:, None], norm, self.sizes)
            norm = correction(rows, norm)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """The norms (…) of features (…, d)."""
        norm = self._first(x)
        for correction in self.corrections:
            norm = correction(x, norm)
        return norm

    def _first(self, x: Tensor) -> Tensor:
        return (x / self.sizes).square().mean(dim=-1).sqrt().clamp(min=_TINY)


class _Correction(nn.Module):
    """Subtracts from the logarithm of a norm what a quadratic form of the unit rows predicts."""

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
        shapes = {"mean": (width,), "spread": (width,), "linear": (width,), "level": (), "most": ()}
        for name, shape in {**shapes, "directions": (width, kept), "form": (kept, kept)}.items():
            self.register_buffer(name, torch.zeros(shape))
        self.spread.fill_(1.0)

    def fit(self, unit: Tensor, norm: Tensor, sizes: Tensor) -> None:
        """Learn by ridge regression from unit rows (n, d) and their norms (n,).

        A column that spreads far less than its size is constant.
        """
        self.mean.copy_(unit.mean(dim=0))
        self.spread.copy_(spread_of(unit, 1e-6 * sizes))
        z = self._squeezed(unit)
        affordable = len(z) // _PEOPLE_EACH
        kept = min(self.directions.shape[1], math.isqrt(2 * affordable))
        few = affordable < z.shape[1]
        leading = _leading_directions(z, max(kept, affordable) if few else kept)
        directions = leading[:, leading.shape[1] - kept :]
        along = z @ directions
        # Single columns where there are enough people to estimate a weight for each.
        alone = z @ leading if few else z
        one, two = torch.triu_indices(kept, kept, device=z.device)
        terms = torch.cat([torch.ones_like(z[:, :1]), alone, along[:, one] * along[:, two]], dim=1)
        logs = norm.log()
        ridge = _RIDGE * torch.eye(terms.shape[1], dtype=z.dtype, device=z.device)
        square, product = terms.T @ terms / len(z), terms.T @ logs / len(z)
        weights = torch.linalg.solve(square + ridge, product)
        linear = weights[1 : 1 + alone.shape[1]]
        self.level.copy_(weights[0])
        self.linear.copy_(leading @ linear if few else linear)
        self.directions.zero_()[:, :kept] = directions.to(self.directions.dtype)
        self.form.zero_()[one, two] = weights[1 + alone.shape[1] :].to(self.form.dtype)
        self.most.copy_(logs.abs().max())

    def forward(self, x: Tensor, norm: Tensor) -> Tensor:
        """Corrected norms of features (…, d), from norms (…)."""
        z = self._squeezed(x / norm[..., None])
        along = z @ self.directions.to(z.dtype)
        squares = ((along @ self.form.to(z.dtype)) * along).sum(dim=-1)
        predicted = self.level + z @ self.linear.to(z.dtype) + squares
        # No correction is larger than the largest error in the fit.
        return norm * torch.exp(-predicted.clamp(-self.most, self.most))

    def _squeezed(self, unit: Tensor) -> Tensor:
        z = (unit - self.mean) / self.spread
        return z / (1 + z.abs() / self.tail)


def _leading_directions(z: Tensor, most: int) -> Tensor:
    """Directions (d, m) of the largest sums of squares, the largest last."""
    if z.shape[1] > _WIDE and most < z.shape[1] // 4:
        with seeded(0, "directions of features"):
            found: Tensor = torch.svd_lowrank(z, q=most, niter=4)[2]
        return found.flip(1)
    _, directions = torch.linalg.eigh(z.T @ z / len(z))
    leading: Tensor = directions[:, z.shape[1] - most :]
    return leading

"""Ranks of features as further inputs, for values with long tails."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.methods.features import spread_of

# Entries in the table of a column's ranks.
_PLACES = 256
# A column of scaled features that spreads less than this is constant but for rounding.
_LEAST = 1e-4
# Distance from the median, in widths, beyond which values are not distinguished.
_FURTHEST = 1e6


class RankScores(nn.Module):
    """Ranks of scaled features, read from a table that is learned without labels.

    Amounts of money and counts have long tails: after standardising, most people lie within a
    tenth of a unit of each other, and a network with few labels cannot tell them apart. Ranks
    spread them out. A value is squeezed to (−1, 1) by the column's median and interquartile range
    and interpolated between two entries of the table, without sorting.
    """

    centre: Tensor
    width: Tensor
    table: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("width", torch.ones(features))
        self.register_buffer("table", torch.zeros(features, _PLACES))

    def fit(self, x: Tensor) -> RankScores:
        """Learn the table from the features (n, d) of all people."""
        ordered = x.sort(dim=0).values
        low, centre, high = (ordered[len(x) * part // 4] for part in (1, 2, 3))
        spread = x.std(dim=0, correction=0)
        # The interquartile range is 0 where half of the people share one value.
        width = torch.where(high - low > 1e-3 * spread, high - low, spread)
        self.centre.copy_(centre)
        self.width.copy_(width.clamp(min=_LEAST))
        ranks = _blurred_ranks(self._squeezed(ordered).double().T.contiguous())
        self.table.copy_(ranks)
        found = self(x).double()
        scores = (ranks - found.mean(dim=0)[:, None]) / spread_of(found)[:, None]
        self.table.copy_(torch.where(spread[:, None] > _LEAST, scores, 0.0))
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Scores (…, d) at zero mean and unit variance over the people of the fit."""
        x = x.to(self.table.dtype)
        place = (self._squeezed(x) + 1) * ((_PLACES - 1) / 2)
        below = place.long().clamp(0, _PLACES - 2)
        first = torch.arange(x.shape[-1], device=x.device) * _PLACES + below
        flat = self.table.flatten()
        return torch.lerp(flat[first], flat[first + 1], place - below)

    def _squeezed(self, x: Tensor) -> Tensor:
        away = ((x - self.centre) / self.width).clamp(-_FURTHEST, _FURTHEST)
        return away / (1 + away.abs())


def _blurred_ranks(ordered: Tensor) -> Tensor:
    """The share of people below each entry of the table, from sorted columns (d, n).

    The distribution function is averaged over one step on either side, so that people who share
    a value get the middle of their ranks wherever it lies between two entries.
    """
    columns, people = ordered.shape
    step = 2 / (_PLACES - 1)
    places = torch.linspace(-1, 1, _PLACES, dtype=ordered.dtype, device=ordered.device)
    sums = torch.cat([ordered.new_zeros(columns, 1), ordered.cumsum(dim=1)], dim=1)

    def area(at: Tensor) -> Tensor:
        """The integral of the distribution function up to there."""
        at = at.repeat(columns, 1)
        below = torch.searchsorted(ordered, at)
        return (below * at - sums.gather(1, below)) / people

    return (area(places + step) - area(places - step)) / (2 * step)

"""Ranks of features as further inputs, for values with long tails."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear.methods.features import spread_of

# Values of a column whose ranks are kept; others lie between two of them.
_KNOTS = 256
# A column of scaled features that spreads less than this is constant but for rounding.
_LEAST = 1e-4


class RankScores(nn.Module):
    """Ranks of scaled features, learned without labels.

    Amounts of money and counts have long tails: after standardising, most people lie within a
    tenth of a unit of each other, and a network with few labels cannot tell them apart. Ranks
    spread them out. People who share a value get the middle of their ranks. Between two values the
    rank is interpolated: a value that is moved a little must not pass everybody who shares it.
    """

    knots: Tensor
    scores: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("knots", torch.zeros(features, _KNOTS))
        self.register_buffer("scores", torch.zeros(features, _KNOTS))

    def fit(self, x: Tensor) -> RankScores:
        """Learn from the features (n, d) of all people."""
        columns = x.float().cpu().numpy().T
        for place, column in enumerate(columns):
            knots, ranks = _ranks(column)
            # Repeated knots at the end are never reached.
            padding = (0, _KNOTS - len(knots))
            self.knots[place] = torch.from_numpy(np.pad(knots, padding, "edge"))
            self.scores[place] = torch.from_numpy(np.pad(ranks, padding, "edge"))
        found = self(x).double()
        spread = x.double().std(dim=0, correction=0)
        scores = (self.scores - found.mean(dim=0)[:, None]) / spread_of(found)[:, None]
        self.scores.copy_(torch.where(spread[:, None] > _LEAST, scores, 0.0))
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Scores (…, d) at zero mean and unit variance over the people of the fit."""
        columns = x.to(self.knots.dtype).flatten(0, -2).T.contiguous()
        above = torch.searchsorted(self.knots, columns).clamp(1, _KNOTS - 1)
        low, high = (self.knots.gather(1, at) for at in (above - 1, above))
        gap = high - low
        share = ((columns - low) / torch.where(gap > 0, gap, 1.0)).clamp(0.0, 1.0)
        found = torch.lerp(self.scores.gather(1, above - 1), self.scores.gather(1, above), share)
        return found.T.reshape(x.shape)


def _ranks(column: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Distinct values of a column, or some of them, and the middle of their ranks from 0 to 1."""
    values, counts = np.unique(column, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(column)
    if len(values) > _KNOTS:
        # Evenly spaced in rank, with both ends.
        wanted = np.linspace(middle[0], middle[-1], _KNOTS)
        at = np.unique(np.clip(np.searchsorted(middle, wanted), 0, len(values) - 1))
        values, middle = values[at], middle[at]
    return values, middle.astype(np.float32)

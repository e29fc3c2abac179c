"""Choosing a decision threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def most_accurate(y: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The threshold t for which `score > t` is most accurate; of equals the nearest to 0.5."""
    ordered = np.unique(scores)
    between = (ordered[1:] + ordered[:-1]) / 2
    candidates = np.concatenate([[0.5], between])
    # Right at t: the ones above it and the zeros that are not.
    ones, zeros = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    above = len(ones) - np.searchsorted(ones, candidates, side="right")
    right = above + np.searchsorted(zeros, candidates, side="right")
    best = candidates[right == right.max()]
    return float(best[np.abs(best - 0.5).argmin()])

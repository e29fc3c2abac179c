"""Choosing a decision threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HALF = 0.5
# Accuracy lost by the threshold, above which it is worth a line.
WORTH_TELLING = 0.05


def most_accurate(y: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The threshold t for which `score > t` is most accurate; of equals the nearest to 0.5."""
    ordered = np.unique(scores)
    between = (ordered[1:] + ordered[:-1]) / 2
    candidates = np.concatenate([[HALF], between])
    # Right at t: the ones above it and the zeros that are not.
    ones, zeros = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    above = len(ones) - np.searchsorted(ones, candidates, side="right")
    right = above + np.searchsorted(zeros, candidates, side="right")
    best = candidates[right == right.max()]
    return float(best[np.abs(best - HALF).argmin()])


def advice(y: NDArray[np.int64], scores: NDArray[np.float64]) -> str:
    """What to tell the person whose labels are those above one half; empty if little is lost."""
    best = most_accurate(y, scores)
    accuracy, at_half = (((scores > cut) == y).mean() for cut in (best, HALF))
    if accuracy - at_half < WORTH_TELLING:
        return ""
    return (
        f"labels: above {HALF:g} they are {accuracy - at_half:.2f} less accurate on validation "
        f'people than above {best:.2f}; threshold="validation" trains with such a threshold'
    )

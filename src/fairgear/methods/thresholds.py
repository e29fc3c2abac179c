"""Choosing a decision threshold, and people to choose on."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

HALF = 0.5
# Loss of accuracy above which `advice` says something.
_NOTABLE = 0.05


def most_accurate(y: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The threshold t for which `score > t` is most accurate; ties go to the nearest to 0.5."""
    ordered = np.unique(scores)
    between = (ordered[1:] + ordered[:-1]) / 2
    candidates = np.concatenate([[HALF], between])
    # Correct at t: the ones above it and the zeros that are not.
    ones, zeros = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    above = len(ones) - np.searchsorted(ones, candidates, side="right")
    correct = above + np.searchsorted(zeros, candidates, side="right")
    best = candidates[correct == correct.max()]
    return float(best[np.abs(best - HALF).argmin()])


def advice(y: NDArray[np.int64], scores: NDArray[np.float64]) -> str:
    """A line for users whose threshold is 0.5; empty if another would gain little accuracy."""
    best = most_accurate(y, scores)
    accuracy, at_half = (((scores > cut) == y).mean() for cut in (best, HALF))
    if accuracy - at_half < _NOTABLE:
        return ""
    return (
        f"a threshold of {HALF:g} costs {accuracy - at_half:.2f} of accuracy on the validation set "
        f'compared with {best:.2f}; threshold="validation" chooses it there'
    )


def validation_subset(rows: Tensor, y: Tensor, most: int) -> Tensor:
    """At most `most` of the rows, evenly spaced within each class, in their order."""
    if len(rows) <= most:
        return rows
    classes = [rows[y[rows] == label] for label in (0, 1)]
    # A rare class gets at least a quarter of the places, as far as it can fill them.
    fewest = min(min(len(part) for part in classes), most // 4)
    kept = []
    for part in classes:
        places = max(fewest, min(len(part) * most // len(rows), most - fewest))
        step = torch.arange(places, device=rows.device) * len(part) // places
        kept.append(part[step])
    return torch.cat(kept).sort().values

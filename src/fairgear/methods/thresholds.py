"""Choosing a decision threshold, and people to choose on."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph.targets import Target

Scores = NDArray[np.float64]

HALF = 0.5
# Probabilities are at least this where their logarithm is taken.
_LEAST = 1e-12
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


def most_accurate_offsets(y: NDArray[np.int64], scores: Scores) -> Scores:
    """Offsets (classes,) for which argmax(log p + offset) is most accurate, one class at a time.

    The first is 0. Ties go to the nearest to 0, so that without a gain all of them are.
    """
    logs = np.log(np.maximum(scores, _LEAST))
    offsets = np.zeros(scores.shape[1])
    for one in range(1, scores.shape[1]):
        others = logs + offsets
        others[:, one] = -np.inf
        # Above its margin, a person gets class `one`.
        margin, best = others.max(axis=1) - logs[:, one], others.argmax(axis=1)
        ordered = np.unique(margin)
        candidates = np.concatenate([[0.0], (ordered[1:] + ordered[:-1]) / 2])
        own, rest = np.sort(margin[y == one]), np.sort(margin[(y != one) & (best == y)])
        right = np.searchsorted(own, candidates, side="left")
        right = right + len(rest) - np.searchsorted(rest, candidates, side="left")
        tied = candidates[right == right.max()]
        offsets[one] = tied[np.abs(tied).argmin()]
    return offsets


def decide(
    scores: Scores, target: Target, threshold: float, offsets: Scores | None
) -> NDArray[np.int64] | Scores:
    """Answers from probabilities (m, classes) or numbers (m, 1)."""
    if target.is_number:
        return scores[:, 0]
    if target.is_binary:
        return (scores[:, 1] > threshold).astype(np.int64)
    offsets = np.zeros(scores.shape[1]) if offsets is None else offsets
    chosen: NDArray[np.int64] = (np.log(np.maximum(scores, _LEAST)) + offsets).argmax(axis=1)
    return chosen


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
    if y.is_floating_point() or int(y.max()) > 1:
        # Several classes are all but never rare among so many people.
        return rows[torch.arange(most, device=rows.device) * len(rows) // most]
    classes = [rows[y[rows] == label] for label in (0, 1)]
    # A rare class gets at least a quarter of the places, as far as it can fill them.
    fewest = min(min(len(part) for part in classes), most // 4)
    kept = []
    for part in classes:
        places = max(fewest, min(len(part) * most // len(rows), most - fewest))
        step = torch.arange(places, device=rows.device) * len(part) // places
        kept.append(part[step])
    return torch.cat(kept).sort().values

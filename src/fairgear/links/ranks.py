"""Measures of how scores rank linked pairs before others, also as functions of weights."""

from __future__ import annotations

import math

import numpy as np

from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import Statistic


def average_precision(linked: Integers, scores: Floats) -> float:
    """Σ (Rₙ − Rₙ₋₁) Pₙ over the thresholds at the scores; NaN without linked pairs.

    Example:
        >>> import numpy as np
        >>> from fairgear.links.ranks import average_precision
        >>> found = average_precision(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
        >>> round(found, 2)
        0.83
    """
    return _of_all(weighted_precision(linked, scores), linked)


def hits_at(linked: Integers, scores: Floats, k: int) -> float:
    """Share of the linked pairs that score above the k-th best pair that is not linked.

    1 where there are fewer than k of these, as in the Open Graph Benchmark; NaN without linked
    pairs.

    Example:
        >>> import numpy as np
        >>> from fairgear.links.ranks import hits_at
        >>> hits_at(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]), k=1)
        0.5
    """
    return _of_all(weighted_hits(linked, scores, k), linked)


def _of_all(statistic: Statistic, linked: Integers) -> float:
    return float(statistic(np.ones((1, len(linked))))[0]) if linked.any() else math.nan


def weighted_precision(linked: Integers, scores: Floats) -> Statistic:
    """Average precision as a function of weights (resamples, m)."""
    order = np.argsort(-scores, kind="stable")
    ranked, label = scores[order], linked[order].astype(np.float64)
    # Equal scores lie on the same side of every threshold.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)

    def value(weights: Floats) -> Floats:
        sorted_weights = weights[:, order]
        above = np.cumsum(sorted_weights, axis=1)[:, last]
        right = np.cumsum(sorted_weights * label, axis=1)[:, last]
        precision = right / np.where(above > 0, above, 1)
        steps = np.diff(right, axis=1, prepend=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = (steps * precision).sum(axis=1) / right[:, -1]
        return found

    return value


def weighted_hits(linked: Integers, scores: Floats, k: int) -> Statistic:
    """Hits@k as a function of weights (resamples, m)."""
    negative = np.flatnonzero(linked == 0)
    negative = negative[np.argsort(-scores[negative], kind="stable")]
    positive = np.flatnonzero(linked == 1)
    positive = positive[np.argsort(-scores[positive], kind="stable")]
    # How many linked pairs score above each of the others, and, last, all of them.
    above = np.searchsorted(-scores[positive], -scores[negative], side="left")
    above = np.append(above, len(positive))

    def value(weights: Floats) -> Floats:
        passed = np.cumsum(weights[:, negative], axis=1) >= k
        missing = ~passed.any(axis=1) if len(negative) else np.ones(len(weights), dtype=np.bool_)
        first = passed.argmax(axis=1) if len(negative) else np.zeros(len(weights), dtype=np.int64)
        place = np.where(missing, len(negative), first)
        won = np.zeros((len(weights), len(positive) + 1))
        np.cumsum(weights[:, positive], axis=1, out=won[:, 1:])
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = won[np.arange(len(weights)), above[place]] / won[:, -1]
        return found

    return value

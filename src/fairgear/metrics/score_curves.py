"""Curves of scores: how they are distributed, ROC, and calibration, at few points each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgear.metrics.inputs import Floats, Integers

# Of a curve that is drawn small.
MOST_POINTS = 64
# Equal-count bins of a calibration curve, and the people that each should have.
BINS, PER_BIN = 10, 10
# Parts of a histogram, and the share of values at each end that does not widen it.
PARTS, TAIL = 40, 0.005


@dataclass(frozen=True)
class Histogram:
    """Shares of values in equal parts of a range.

    Attributes:
        low: where the first part begins.
        high: where the last part ends.
        shares: of the values, in each part.
    """

    low: float
    high: float
    shares: tuple[float, ...]


def histogram_range(values: Floats) -> tuple[float, float]:
    """The range of a histogram: 0 to 1 of probabilities, else all but the outermost values."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(values, [TAIL, 1 - TAIL]))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def histogram(values: Floats, low: float, high: float) -> Histogram:
    """Of some values between two ends; those beyond count in the part at that end."""
    place = np.floor((values - low) / (high - low) * PARTS).astype(np.int64)
    counts = np.bincount(np.clip(place, 0, PARTS - 1), minlength=PARTS)
    return Histogram(low, high, tuple((counts / len(values)).tolist()))


@dataclass(frozen=True)
class Roc:
    """Points of an ROC curve, from (0, 0) to (1, 1).

    Attributes:
        false_positives: share of class 0 above each threshold.
        true_positives: share of class 1.
    """

    false_positives: tuple[float, ...]
    true_positives: tuple[float, ...]


def roc(y: Integers, scores: Floats, *, most: int = MOST_POINTS) -> Roc | None:
    """The curve at every threshold or, where that is too many, evenly along it.

    Args:
        y: 0 or 1.
        scores: higher ones for class 1.
        most: points that are kept, both ends among them.

    Returns:
        None where one class has nobody.
    """
    positives = int(y.sum())
    if positives in (0, len(y)):
        return None
    order = np.argsort(-scores, kind="stable")
    ranked, label = scores[order], y[order]
    # Equal scores lie on the same side of every threshold.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(y) - 1)
    true = np.append(0, np.cumsum(label)[last]) / positives
    false = np.append(0, np.cumsum(1 - label)[last]) / (len(y) - positives)
    along = true + false
    wanted = np.linspace(0, along[-1], most)
    kept = np.arange(len(along))
    if len(along) > most:
        kept = np.unique(np.searchsorted(along, wanted, side="left").clip(0, len(along) - 1))
    return Roc(tuple(false[kept].tolist()), tuple(true[kept].tolist()))


@dataclass(frozen=True)
class Calibration:
    """Mean scores beside the shares that they predict, in bins of about equal counts.

    Attributes:
        scores: the mean score of each bin.
        shares: of its people who are of class 1 or, of several classes, whose answer is right.
        people: in each bin.
    """

    scores: tuple[float, ...]
    shares: tuple[float, ...]
    people: tuple[int, ...]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of the two, over people."""
        apart = np.abs(np.subtract(self.scores, self.shares))
        return float(np.average(apart, weights=self.people))


def calibration(hits: Integers, scores: Floats) -> Calibration:
    """Of scores that are probabilities of a hit; people with equal scores are in one bin."""
    bins = min(BINS, max(1, len(scores) // PER_BIN))
    ends = np.quantile(scores, np.linspace(0, 1, bins + 1))[1:-1]
    _, place = np.unique(np.searchsorted(ends, scores, side="left"), return_inverse=True)
    count = np.bincount(place)
    return Calibration(
        tuple((np.bincount(place, weights=scores) / count).tolist()),
        tuple((np.bincount(place, weights=hits) / count).tolist()),
        tuple(count.tolist()),
    )

"""When two answers to the same person differ, and how far scores are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.graph.targets import BINARY, Target
from fairgear.metrics.inputs import Floats

# Numbers that differ by more than this share of the labels' standard deviation count as another
# answer. It is half of what Cohen calls a small difference, and above rounding in most tables.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Disagreement:
    """How answers to the same people are compared.

    Classes: another class. Numbers: more than `tolerance` standard deviations of the labels apart.
    Scores: probabilities of class 1 by their difference, of several classes by ½Σ|p_c − p'_c|,
    which for two classes is the same; numbers by their difference in standard deviations.
    """

    target: Target = BINARY
    tolerance: float = TOLERANCE

    @property
    def ordered(self) -> bool:
        """Whether one answer can be higher than another; several classes have no order."""
        return self.target.is_binary or self.target.is_number

    def changes(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
        """1 where the second answer is another and higher, −1 where it is lower, 0 if the same.

        1 for another class where classes have no order.
        """
        if self.target.is_binary:
            between: NDArray[np.int64] = second - first
            return between
        if not self.target.is_number:
            another: NDArray[np.int64] = np.not_equal(second, first).astype(np.int64)
            return another
        apart = (second - first) / self.target.sd
        return np.where(np.abs(apart) > self.tolerance, np.sign(apart), 0).astype(np.int64)

    def moves(self, first: Floats, second: Floats) -> Floats:
        """How far each person's score moves; without a sign for several classes."""
        if self.target.is_binary:
            return second - first
        if self.target.is_number:
            moved: Floats = (second - first) / self.target.sd
            return moved
        half: Floats = np.abs(second - first).sum(axis=-1) / 2
        return half


def of_answer(scores: Floats, labels: NDArray[Any]) -> Floats:
    """The one score of each person that tables show: of several, that of their factual answer."""
    if scores.ndim == labels.ndim:
        return scores
    chosen: Floats = np.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]
    return chosen

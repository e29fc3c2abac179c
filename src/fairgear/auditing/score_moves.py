"""ScoreMoves: by how much scores change, up and down, person by person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.model import ROUNDING
from fairgear.metrics.inputs import Floats


@dataclass(frozen=True, eq=False)
class ScoreMoves:
    """Means over the draws of each world, then over the worlds, for each person.

    Attributes:
        shift: change of the score.
        rising: share of the draws in which it rises, rounding aside.
        up: what the rises add up to, over all draws.
        falling: share in which it falls.
        down: what the falls add up to, as a positive number.
    """

    shift: Floats
    rising: Floats
    up: Floats
    falling: Floats
    down: Floats

    @classmethod
    def of(cls, worlds: Sequence[Floats]) -> ScoreMoves:
        """From the changes in each world, (draws, people), NaN where somebody took no part."""

        def mean(values: Sequence[NDArray[Any]]) -> Floats:
            each = [by_person(one, ~np.isnan(w)) for one, w in zip(values, worlds, strict=True)]
            average: Floats = np.mean(each, axis=0)
            return average

        return cls(
            shift=mean(worlds),
            rising=mean([moves > ROUNDING for moves in worlds]),
            up=mean([np.maximum(moves, 0) for moves in worlds]),
            falling=mean([moves < -ROUNDING for moves in worlds]),
            down=mean([np.maximum(-moves, 0) for moves in worlds]),
        )

    @property
    def rise(self) -> float:
        """Mean rise among those whose score rises; NaN where nobody's does."""
        return _ratio(self.up, self.rising)

    @property
    def fall(self) -> float:
        """Mean fall among those whose score falls; NaN where nobody's does."""
        return _ratio(self.down, self.falling)

    @property
    def size(self) -> float:
        """Mean absolute change."""
        return float((self.up + self.down).mean())


def by_person(values: NDArray[Any], part: NDArray[np.bool_]) -> Floats:
    """Each person's mean over the draws (rows) in which they take part."""
    total: Floats = np.where(part, values, 0).sum(axis=0) / part.sum(axis=0)
    return total


def _ratio(total: Floats, share: Floats) -> float:
    return float(total.sum() / share.sum()) if share.any() else math.nan

"""Location and scale: a person keeps their standard score, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.along import Scores
from fairgear.causal.features.base import FEATURE_MODELS, CellModel, Floats, Integers, Noise

# Standard deviations below this share of everybody's are rounding.
_NONE = 1e-9


class FeatureLocationScale(CellModel):
    """(x − μ_s)/σ_s·σ_s' + μ_s' in each column.

    A cell in which everybody has the same value says nothing about spread. It takes that of
    everybody, so that maps still compose, and people it was not fitted on are not flung far away.
    Along a number, means and logarithms of spreads are lines between knots.
    """

    name = "location-scale"
    how = "by the groups' means and standard deviations, column by column"
    how_along = "by means and standard deviations along the attribute, column by column"
    composes = True

    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        parts = [table[cells == cell] for cell in range(self._cells)]
        all_spread, spread = table.std(axis=0), np.stack([part.std(axis=0) for part in parts])
        spread = np.where(spread > _NONE * all_spread, spread, all_spread)
        return {
            "mean": np.stack([part.mean(axis=0) for part in parts]),
            "spread": np.where(spread > 0, spread, 1.0),
        }

    def _numbers(self, old: Floats, before: Integers, after: Integers, noise: Noise) -> Floats:
        mean, spread = self._learned["mean"], self._learned["spread"]
        result: Floats = (old - mean[before]) / spread[before] * spread[after] + mean[after]
        return result

    def _learn_along(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        return Scores.of(table, sens).state()

    def _along(self, old: Floats, before: Floats, after: Floats, noise: Noise) -> Floats:
        scores = Scores.from_state(self._learned)
        return scores.values(scores.standard(old, before), after)


FEATURE_MODELS.add("location-scale", FeatureLocationScale)

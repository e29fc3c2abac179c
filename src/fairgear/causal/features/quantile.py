"""The map of quantiles: a person keeps their rank, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.base import FEATURE_MODELS, CellModel, Floats, Integers, Noise


class FeatureQuantiles(CellModel):
    """Each value keeps its rank within the cell and takes the other cell's value of that rank.

    A value that several people share covers a range of ranks. A person's place in it is drawn by
    their id, once for all columns: a column of zeros and ones stays one, with the other cell's
    share of ones, and equal columns stay equal. A unique value takes the middle of its range.
    """

    name = "quantile"
    how = "by a map of quantiles between the groups"

    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        return {
            f"cell {cell}": np.sort(table[cells == cell], axis=0) for cell in range(self._cells)
        }

    def _numbers(self, old: Floats, before: Integers, after: Integers, noise: Noise) -> Floats:
        result, drawn = old.copy(), noise("quantile")
        for cell, other in sorted(set(zip(before.tolist(), after.tolist(), strict=True))):
            mine = np.flatnonzero((before == cell) & (after == other))
            source, target = self._learned[f"cell {cell}"], self._learned[f"cell {other}"]
            for column in self._numeric:
                values = old[mine, column]
                # In order of size they are found several times as fast, at the same places.
                order = values.argsort()
                low, high = np.empty((2, len(values)), np.int64)
                low[order] = np.searchsorted(source[:, column], values[order], side="left")
                high[order] = np.searchsorted(source[:, column], values[order], side="right")
                place = np.where(high - low > 1, drawn[mine], 0.5)
                rank = (low + place * (high - low)) / len(source)
                at = np.minimum((rank * len(target)).astype(np.int64), len(target) - 1)
                result[mine, column] = target[at, column]
        return result


FEATURE_MODELS.add("quantile", FeatureQuantiles)

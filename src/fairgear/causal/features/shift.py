"""The shift: a person moves by the difference of the cells' means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.base import FEATURE_MODELS, CellModel, Floats, Integers, Noise


class FeatureShift(CellModel):
    """x + M(φ(s') − φ(s)), M the slope of least squares of X on the code φ of the attribute.

    The code of a cell is its indicator, so this adds the difference of the cells' means: with two
    values, (s' − s)·(E[X | s = 1] − E[X | s = 0]), as in the paper. A number is its own code.
    """

    name = "shift"
    how = "by the difference of the groups' means"
    how_along = "along a line, the slope of least squares on the attribute"
    composes = True

    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        means = np.stack([table[cells == cell].mean(axis=0) for cell in range(self._cells)])
        shift = means - means[0]
        unit = self._unit(np.abs(shift).max(axis=0))
        return {"shift": np.round(shift / unit) * unit}

    def _unit(self, furthest: Floats) -> Floats:
        # Rounded to the last place of the largest value in its column. Integers plus the shift
        # are then exact, so two people shifted alike keep their exact distance, and rounding
        # breaks no tie of the similarity rule.
        largest = np.abs(self._ends).max(axis=0) + furthest
        unit: Floats = np.ldexp(1.0, np.frexp(largest)[1] - 52)
        return unit

    def _numbers(self, old: Floats, before: Integers, after: Integers, noise: Noise) -> Floats:
        shift = self._learned["shift"]
        result: Floats = old + (shift[after] - shift[before])
        return result

    def _learn_along(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        middle = sens.mean()
        centred = sens - middle
        slope = (centred[:, None] * (table - table.mean(axis=0))).sum(axis=0) / (centred**2).sum()
        unit = self._unit(np.abs(slope) * np.abs(centred).max())
        return {"middle": np.array([middle]), "slope": slope, "unit": unit}

    def _along(self, old: Floats, before: Floats, after: Floats, noise: Noise) -> Floats:
        middle, slope, unit = (self._learned[name] for name in ("middle", "slope", "unit"))
        there, here = (
            np.round((of[:, None] - middle) * slope / unit) * unit for of in (after, before)
        )
        result: Floats = old + (there - here)
        return result


FEATURE_MODELS.add("shift", FeatureShift)

"""The map of quantiles: a person keeps their rank, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.along import Scores, at_same_rank, cumulative_shares, quantiles
from fairgear.causal.features.base import (
    FEATURE_MODELS,
    FEW,
    CellModel,
    Floats,
    Integers,
    Noise,
)
from fairgear.causal.features.steps import MOST, at_ranks, ranks, steps_of

# Along a number, a column of which so many people share one value is a law of steps.
_SHARED = 0.2


class FeatureQuantiles(CellModel):
    """Each value keeps its rank within the cell and takes the other cell's value of that rank.

    A value that several people share covers a range of ranks. A person's place in it is drawn by
    their id, once for all columns: a column of zeros and ones stays one, with the other cell's
    share of ones, and equal columns stay equal. A unique value takes the middle of its range.

    Along a number, ranks are those among people around each knot, of standard scores given the
    number: what follows from it is no difference among them. Between knots, quantiles are mixed.
    Values are rounded to those that a column has, if they are not many. Columns of few values
    have a share of each along the number, and places within values are drawn.
    """

    name = "quantile"
    how = "by a map of quantiles between the groups"
    how_along = "by a map of quantiles along the attribute"

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

    def _learn_along(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        scores = Scores.of(table, sens)
        standard, weights = scores.standard(table, sens), scores.knots.weights(sens)
        learned: dict[str, NDArray[Any]] = scores.state()
        for column in self._numeric:
            distinct, counts = np.unique(table[:, column], return_counts=True)
            if len(distinct) <= FEW or counts.max() > _SHARED * len(table):
                grid, atom = steps_of(table[:, column])
                codes = np.searchsorted(grid, table[:, column])
                law = cumulative_shares(codes, len(grid), weights)
                learned |= {f"grid {column}": grid, f"atom {column}": atom, f"law {column}": law}
                continue
            learned[f"quantiles {column}"] = quantiles(standard[:, column], weights)
            if len(distinct) <= MOST:
                learned[f"values {column}"] = distinct
        return learned

    def _along(self, old: Floats, before: Floats, after: Floats, noise: Noise) -> Floats:
        learned, drawn = self._learned, noise("quantile")
        scores = Scores.from_state(learned)
        knots, standard = scores.knots, scores.standard(old, before)
        stepped = [column for column in self._numeric if f"grid {column}" in learned]
        numbers = [column for column in self._numeric if column not in stepped]
        for column in numbers:
            law, values = learned[f"quantiles {column}"], standard[:, column]
            standard[:, column] = at_same_rank(knots, law, values, before, after)
        result: Floats = np.clip(scores.values(standard, after), *self._ends)
        for column in numbers:
            known = learned.get(f"values {column}")
            if known is not None:
                place = np.searchsorted((known[1:] + known[:-1]) / 2, result[:, column])
                result[:, column] = known[place]
        for column in stepped:
            grid, atom, law = (learned[f"{what} {column}"] for what in ("grid", "atom", "law"))
            rank = ranks(grid, atom, knots.mixed(law, before), old[:, column], drawn)
            result[:, column] = at_ranks(grid, atom, knots.mixed(law, after), rank)
        return result


FEATURE_MODELS.add("quantile", FeatureQuantiles)

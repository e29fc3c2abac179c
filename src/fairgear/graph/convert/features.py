"""Feature columns: numbers stay numbers, everything else is encoded by its levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.convert.spelling import in_order, listed, spelled

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# More levels than this are names or free text, which one column each would only memorise.
MOST_LEVELS = 50
_FEW_LEVELS = 10
# Squares of larger ones leave the range of a float.
_LARGEST = 1e100
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_LEVELS = ("string", "boolean", "categorical", "mixed", "mixed-integer", "empty")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers, NaN where missing."""

    name: str
    values: Floats

    @property
    def missing(self) -> Mask:
        """The rows without a value."""
        return np.isnan(self.values)

    @property
    def fillable(self) -> bool:
        """Whether there is anything to fill gaps from."""
        return not self.missing.all()

    def rows(self, keep: Mask) -> Self:
        """The same column of fewer people."""
        return replace(self, values=self.values[keep])

    def filled(self) -> Self:
        """The median where a value is missing."""
        return replace(self, values=np.where(self.missing, np.nanmedian(self.values), self.values))

    def encoded(self) -> dict[str, Floats]:
        """As it is."""
        return {self.name: self.values}


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of levels: their numbers, −1 where missing."""

    name: str
    codes: NDArray[np.int64]
    levels: tuple[str, ...]

    @property
    def missing(self) -> Mask:
        """The rows without a level."""
        return self.codes < 0

    @property
    def fillable(self) -> bool:
        """Whether there is anything to fill gaps from."""
        return not self.missing.all()

    def rows(self, keep: Mask) -> Self:
        """The same column of fewer people."""
        return replace(self, codes=self.codes[keep])

    def filled(self) -> Self:
        """The most frequent level where it is missing; of two, the first in order."""
        counts = np.bincount(self.codes[~self.missing], minlength=len(self.levels))
        return replace(self, codes=np.where(self.missing, counts.argmax(), self.codes))

    def encoded(self) -> dict[str, Floats]:
        """One column of 0 and 1 a level; of two levels the second alone, of one none."""
        present = np.unique(self.codes).tolist()
        if set(self.levels) <= {"False", "True"} and len(present) == 2:
            return {self.name: (self.codes == present[1]).astype(np.float64)}
        told = present if len(present) > 2 else present[1:]
        return {
            f"{self.name}={self.levels[code]}": (self.codes == code).astype(np.float64)
            for code in told
        }


FeatureColumn = NumberColumn | LevelColumn


def feature_column(column: pd.Series, name: str, *, categorical: bool) -> FeatureColumn:
    """A column of a table as numbers, or as levels if it is text, boolean or categorical."""
    kind = "categorical" if categorical else pd.api.types.infer_dtype(column, skipna=True)
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = "categorical"
    if kind in NUMBERS:
        return numbers(column, name)
    if kind in _LEVELS:
        return _leveled(column, name)
    raise GraphError(
        f"column {name!r}",
        f"values of the kind {kind}",
        "numbers, text, true and false",
        f"turn it into numbers, or leave it out with --drop {name}",
    )


def numbers(column: pd.Series, name: str) -> NumberColumn:
    """A column of numbers that can be reckoned with."""
    values = _floats(column)
    infinite = int((np.abs(values) > _LARGEST).sum())
    if infinite:
        raise GraphError(
            f"column {name!r}",
            f"{infinite} values that are infinite or beyond {_LARGEST:.0e}",
            "numbers that can be squared and summed",
            f"correct them, or leave the column out with --drop {name}",
        )
    return NumberColumn(name, values)


def _floats(column: pd.Series) -> Floats:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        # An object for each number would take ten times the memory.
        return column.to_numpy(dtype=np.float64)
    given = column.astype(object)
    try:
        return given.where(given.notna(), np.nan).to_numpy(dtype=np.float64)
    except OverflowError:
        # Some whole number is longer than any float.
        far = given.map(lambda value: isinstance(value, int) and abs(value) > _LARGEST)
        return given.where(given.notna(), np.nan).mask(far, np.inf).to_numpy(dtype=np.float64)


def _leveled(column: pd.Series, name: str) -> LevelColumn:
    try:
        codes, uniques = pd.factorize(column.astype(object))
    except TypeError as error:
        raise GraphError(
            f"column {name!r}",
            "lists or other compound values",
            "numbers, text, true and false",
            f"leave it out with --drop {name}",
        ) from error
    texts = [spelled(value) for value in uniques]
    levels = in_order(dict.fromkeys(texts))
    known = int((codes >= 0).sum())
    if len(levels) > MOST_LEVELS or len(levels) > max(_FEW_LEVELS, known / 2):
        raise GraphError(
            f"column {name!r}",
            f"{len(levels)} different texts in {known} rows, such as {listed(levels, 2)}",
            f"a number, or text with at most {MOST_LEVELS} levels that people share",
            f"leave it out with --drop {name}, or use it with --id if it says who is who",
        )
    place = {text: number for number, text in enumerate(levels)}
    numbered = np.array([*(place[text] for text in texts), -1], dtype=np.int64)
    return LevelColumn(name, numbered[codes], tuple(levels))

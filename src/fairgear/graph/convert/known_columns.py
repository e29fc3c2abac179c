"""Columns of a table that a model meets after its training: coded as the training's were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.convert.features import (
    NUMBERS,
    FeatureColumn,
    Floats,
    LevelColumn,
    NumberColumn,
    numbers,
)
from fairgear.graph.convert.spelling import listed, spelled


@dataclass(frozen=True)
class ColumnCode:
    """How a column was turned into features.

    Args:
        column: its name in the table.
        features: what it became, in order; of two levels the second alone.
        levels: what it held, in order; None for numbers.
        fill: what stands for a missing value: the median, or the most frequent level.
    """

    column: str
    features: tuple[str, ...]
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None

    @classmethod
    def of(cls, column: FeatureColumn) -> Self:
        """The code of a training column without gaps."""
        names = tuple(column.encoded())
        if isinstance(column, NumberColumn):
            return cls(column.name, names, None, float(np.median(column.values)))
        present, counts = np.unique(column.codes, return_counts=True)
        levels = tuple(column.levels[code] for code in present)
        return cls(column.name, names, levels, levels[int(counts.argmax())])

    def read(self, column: pd.Series) -> FeatureColumn:
        """The same column of other people."""
        if self.levels is not None:
            return KnownLevels(self.column, self._codes(column), self.levels, self)
        if column.isna().all():
            return KnownNumbers(self.column, np.full(len(column), np.nan), self)
        if pd.api.types.infer_dtype(column, skipna=True) not in NUMBERS:
            shown = dict.fromkeys(spelled(value) for value in column.dropna())
            raise GraphError(
                f"column {self.column!r}",
                f"no numbers, such as {listed(shown, 2)}",
                "numbers, as the model was trained on",
                "correct the column, or leave such cells empty and use --missing impute",
            )
        return KnownNumbers(self.column, numbers(column, self.column).values, self)

    def _codes(self, column: pd.Series) -> NDArray[np.int64]:
        assert self.levels is not None
        texts = [None if gap else spelled(v) for v, gap in zip(column, column.isna(), strict=True)]
        place = {level: number for number, level in enumerate(self.levels)}
        strange = list(dict.fromkeys(t for t in texts if t is not None and t not in place))
        if strange:
            # All zeros would read as the first of two levels, which nobody has said.
            raise GraphError(
                f"column {self.column!r}",
                f"{listed(strange, 3)}, which the model was not trained on",
                listed(self.levels, 10),
                "recode it, or leave such cells empty and use --missing impute",
            )
        return np.array([-1 if t is None else place[t] for t in texts], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class KnownNumbers(NumberColumn):
    """Numbers whose gaps are filled with the training's median."""

    code: ColumnCode

    @property
    def fillable(self) -> bool:
        """The training says with what."""
        return True

    def filled(self) -> Self:
        """The training's median where a value is missing."""
        usual = float(self.code.fill or 0)
        return replace(self, values=np.where(self.missing, usual, self.values))


@dataclass(frozen=True, eq=False)
class KnownLevels(LevelColumn):
    """Levels that become the training's features, whichever of them occur."""

    code: ColumnCode

    @property
    def fillable(self) -> bool:
        """The training says with what."""
        return True

    def filled(self) -> Self:
        """The training's most frequent level where it is missing."""
        usual = self.levels.index(str(self.code.fill))
        return replace(self, codes=np.where(self.missing, usual, self.codes))

    def encoded(self) -> dict[str, Floats]:
        """The training's columns of 0 and 1."""
        names = self.code.features
        first = len(self.levels) - len(names)
        return {
            name: (self.codes == first + number).astype(np.float64)
            for number, name in enumerate(names)
        }

"""Feature columns: numbers stay numbers, everything else is encoded by its levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.errors import GraphError
from fairgear.graph.tables.spellings import days_of
from fairgear.graph.tables.values import KINDS, levels_of, unusable

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# More levels than this are names or free text; a feature for each would only memorise people.
MOST_LEVELS = 50
_FEW_LEVELS = 10
# Squares of larger numbers overflow.
_LARGEST = 1e100
DATES = ("date", "datetime", "datetime64")
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_LEVELS = ("string", "boolean", "categorical", "mixed", "mixed-integer", "empty")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers, NaN where missing.

    Args:
        name: in the table.
        values: one a row.
        fill: for missing values; the median if not given.
    """

    name: str
    values: Floats
    fill: float | None = None

    @property
    def missing(self) -> Mask:
        """The rows without a value."""
        return np.isnan(self.values)

    def rows(self, keep: Mask) -> Self:
        """The same column of fewer people."""
        return replace(self, values=self.values[keep])

    def filled(self) -> Self:
        """The column without gaps."""
        fill = np.nanmedian(self.values) if self.fill is None else self.fill
        return replace(self, values=np.where(self.missing, fill, self.values))

    def encoded(self) -> dict[str, Floats]:
        """Features by name: the column as it is."""
        return {self.name: self.values}


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of levels, as codes into `levels`, −1 where missing.

    Args:
        name: in the table.
        codes: one a row.
        levels: sorted.
        fill: the code for missing values; the most frequent level if not given.
        features: the names of its features, where a trained model has them: one for each level,
            or for each but the first.
    """

    name: str
    codes: NDArray[np.int64]
    levels: tuple[str, ...]
    fill: int | None = None
    features: tuple[str, ...] | None = None

    @property
    def missing(self) -> Mask:
        """The rows without a level."""
        return self.codes < 0

    def rows(self, keep: Mask) -> Self:
        """The same column of fewer people."""
        return replace(self, codes=self.codes[keep])

    def filled(self) -> Self:
        """The column without gaps; of equally frequent levels, the first fills them."""
        fill = self.fill
        if fill is None:
            counts = np.bincount(self.codes[~self.missing], minlength=len(self.levels))
            fill = int(counts.argmax())
        return replace(self, codes=np.where(self.missing, fill, self.codes))

    def encoded(self) -> dict[str, Floats]:
        """Features by name: a 0/1 column a level; the second of two levels alone; of one none."""
        if self.features is not None:
            first = len(self.levels) - len(self.features)
            encoded = dict(zip(self.features, range(first, len(self.levels)), strict=True))
        else:
            present = np.unique(self.codes).tolist()
            if set(self.levels) <= {"False", "True"} and len(present) == 2:
                encoded = {self.name: present[1]}
            else:
                shown = present if len(present) > 2 else present[1:]
                encoded = {f"{self.name}={self.levels[code]}": code for code in shown}
        return {name: (self.codes == code).astype(np.float64) for name, code in encoded.items()}


FeatureColumn = NumberColumn | LevelColumn


def encoded_values(columns: Iterable[FeatureColumn]) -> Floats:
    """The features of all columns (n, d), unscaled."""
    return np.stack([v for column in columns for v in column.encoded().values()], axis=1)


def feature_columns(
    columns: Iterable[tuple[str, pd.Series]],
    *,
    categorical: Sequence[str],
    drop_text: bool,
    notes: list[str],
) -> Iterator[FeatureColumn]:
    """The columns of a table as features; free text is left out if `drop_text`, else refused."""
    for name, column in columns:
        kind = kind_of(column, categorical=name in categorical)
        if drop_text and kind in _LEVELS and is_text(*levels_of(column, name)):
            notes.append(f"left out column {name!r}: free text")
            continue
        if kind in DATES:
            notes.append(f"column {name!r}: dates are read as days since 1970")
        yield feature_column(column, name, kind)


def kind_of(column: pd.Series, *, categorical: bool = False) -> str:
    """What a column holds, in the words of pandas; "categorical" where the user says so."""
    if categorical or isinstance(column.dtype, pd.CategoricalDtype):
        return "categorical"
    return str(pd.api.types.infer_dtype(column, skipna=True))


def is_text(codes: NDArray[np.int64], levels: Sequence[str]) -> bool:
    """Whether levels are names or prose rather than categories that people share."""
    known = int((codes >= 0).sum())
    return len(levels) > MOST_LEVELS or len(levels) > max(_FEW_LEVELS, known / 2)


def feature_column(column: pd.Series, name: str, kind: str) -> FeatureColumn:
    """A column of a table as numbers, or as levels if it is text, boolean or categorical."""
    if kind in (*NUMBERS, *DATES):
        return NumberColumn(name, checked_numbers(column, name))
    if kind not in _LEVELS:
        raise unusable(name, f"values of the kind {kind}", KINDS, "turn it into numbers")
    codes, levels = levels_of(column, name)
    if is_text(codes, levels):
        known = int((codes >= 0).sum())
        raise unusable(
            name,
            f"{len(levels)} different texts in {known} rows, such as {listed(levels, 2)}",
            f"a number, or text with at most {MOST_LEVELS} levels that people share",
            "use it with --id if it says who is who, leave out all such columns with --drop-text",
        )
    return LevelColumn(name, codes, levels)


def checked_numbers(column: pd.Series, name: str) -> Floats:
    """A column of numbers or dates as floats; too large ones are refused."""
    dates = pd.api.types.infer_dtype(column, skipna=True) in DATES
    values = _floats(days_of(column) if dates else column)
    infinite = int((np.abs(values) > _LARGEST).sum())
    if infinite:
        got = f"{infinite} values that are infinite or beyond {_LARGEST:.0e}"
        raise unusable(name, got, "numbers that can be squared and summed", "correct it")
    return values


def _floats(column: pd.Series) -> Floats:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        # An object for each number would take ten times the memory.
        return column.to_numpy(dtype=np.float64)
    given = column.astype(object)
    try:
        return given.where(given.notna(), np.nan).to_numpy(dtype=np.float64)
    except OverflowError:
        # Some integer is longer than any float.
        far = given.map(lambda value: isinstance(value, int) and abs(value) > _LARGEST)
        return given.where(given.notna(), np.nan).mask(far, np.inf).to_numpy(dtype=np.float64)


def without_missing(
    features: Sequence[FeatureColumn], left_out: Mask, *, policy: str, notes: list[str]
) -> tuple[list[FeatureColumn], Mask]:
    """The columns without gaps, and which rows are kept.

    `features` are all but the sensitive attribute; the rows `left_out` are not kept, whatever the
    policy. `notes` collects what the user should know.
    """
    keep = ~left_out
    if left_out.any():
        features = [column.rows(keep) for column in features]
    gaps = {column.name: int(column.missing.sum()) for column in features if column.missing.any()}
    if policy == "drop":
        whole = np.ones(int(keep.sum()), dtype=np.bool_)
        for column in features:
            whole &= ~column.missing
        if not whole.any():
            raise GraphError(
                "rows without missing values",
                f"none, with gaps in {_counted(gaps)}",
                "at least one",
                "leave columns out with --drop, or use --missing impute",
            )
        if not whole.all():
            lost, held = int((~whole).sum()), len(whole)
            notes.append(f"left out {lost:,} of {held:,} rows: missing values")
        keep[keep] = whole
        return [column.rows(whole) for column in features], keep
    if gaps and policy == "refuse":
        raise GraphError(
            "missing values",
            _counted(gaps),
            "none, unless you say what to do with them",
            "use --missing impute to fill them (missing='impute' in Python), "
            "--missing drop to leave those rows out, or --drop to leave columns out",
        )
    for column in features:
        if column.fill is None and column.missing.all():
            got = "no value at all, nothing to fill gaps from"
            raise unusable(column.name, got, "at least one value", "complete it")
    if gaps:
        notes.append(f"filled missing values of {_counted(gaps)}")
    return [column.filled() for column in features], keep


def _counted(gaps: dict[str, int]) -> str:
    shown = ", ".join(f"{name} ({count})" for name, count in list(gaps.items())[:8])
    return shown + (f" and {len(gaps) - 8} more columns" if len(gaps) > 8 else "")

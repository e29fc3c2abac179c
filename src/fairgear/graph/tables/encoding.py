"""Encoding: how a table became features, so that a model reads other tables the same way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.errors import FileError, GraphError
from fairgear.files import write_json
from fairgear.graph.similarity_mechanism import ColumnScale
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.features import (
    NUMBERS,
    FeatureColumn,
    Floats,
    LevelColumn,
    NumberColumn,
    checked_numbers,
)
from fairgear.graph.tables.values import TwoValues, known_groups, listed, spelled

# Beside a model that was trained on a user's file, and in the folder of a stored graph.
ENCODING = "encoding.json"
_FORMAT = 1
_BOOLEANS = {"False", "True"}
# Columns with this share of all variance decide by themselves who is similar to whom.
_NEARLY_ALL = 0.99


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Features (n, d) by name, unscaled; the sensitive attribute among them as 0 and 1."""

    values: Floats
    names: list[str]
    sens_column: int

    @classmethod
    def of(cls, features: Iterable[FeatureColumn], sensitive: str, notes: list[str]) -> Self:
        """The columns in order; constant text is left out."""
        found: dict[str, Floats] = {}
        for column in features:
            encoded = column.encoded()
            if not encoded:
                notes.append(f"left out column {column.name!r}: everybody has the same value")
            for name in encoded:
                if name in found:
                    raise repeated_feature(column.name, name)
            found |= encoded
        check_some_feature(found, sensitive)
        names = list(found)
        return cls(np.stack(list(found.values()), axis=1), names, names.index(sensitive))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every feature."""
        return self.values.mean(axis=0), self.values.std(axis=0)

    def standardized(self, mean: Floats, spread: Floats) -> EncodedTable:
        """Every feature but the sensitive one less `mean`, over `spread` unless that is 0."""
        scaled = (self.values - mean) / np.where(spread > 0, spread, 1.0)
        scaled[:, self.sens_column] = self.values[:, self.sens_column]
        return replace(self, values=scaled)

    def copies(self, codes: NDArray[np.int64]) -> list[str]:
        """The other features that equal `codes`, up to coding, wherever these are known."""
        known = codes >= 0
        told = codes[known]
        found = []
        for place, name in enumerate(self.names):
            column = self.values[known, place]
            one, zero = column[told == 1], column[told == 0]
            apart = len(one) and len(zero) and one[0] != zero[0]
            same = apart and (one == one[0]).all() and (zero == zero[0]).all()
            if place != self.sens_column and same:
                found.append(name)
        return found

    def dominant(self) -> list[str]:
        """The few features with nearly all of the variance; none if it takes half of them."""
        variance = self.values.var(axis=0)
        largest = np.argsort(-variance, kind="stable")
        share = np.cumsum(variance[largest])
        needed = int(np.searchsorted(share, _NEARLY_ALL * variance.sum())) + 1
        few = needed < (variance > 0).sum() / 2
        return [self.names[place] for place in largest[:needed]] if few else []


def repeated_feature(column: str, name: str) -> GraphError:
    """The error for two features of the same name, the second made from `column`."""
    return GraphError(
        f"column {column!r}",
        f"a feature called {name!r}, which another column has made already",
        "names that differ",
        f"rename it, or leave it out with --drop {column}",
    )


def check_some_feature(names: Iterable[str], sensitive: str) -> None:
    """Refuse a table without features besides the sensitive one."""
    if set(names) <= {sensitive}:
        raise GraphError(
            "features",
            f"no column besides the sensitive one, {sensitive!r}",
            "at least one more",
            "add columns, or drop fewer",
        )


@dataclass(frozen=True)
class ColumnCode:
    """How a column was turned into features.

    Args:
        column: its name in the table.
        features: what it became, in order; of two levels the second alone.
        levels: what it held, in order; None for numbers.
        fill: for missing values: the median, or the most frequent level.
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
            code = self.levels.index(str(self.fill))
            return LevelColumn(self.column, self._codes(column), self.levels, code, self.features)
        fill = float(self.fill or 0)
        if column.isna().all():
            return NumberColumn(self.column, np.full(len(column), np.nan), fill)
        if pd.api.types.infer_dtype(column, skipna=True) not in NUMBERS:
            shown = dict.fromkeys(spelled(value) for value in column.dropna())
            raise GraphError(
                f"column {self.column!r}",
                f"no numbers, such as {listed(shown, 2)}",
                "numbers, as the model was trained on",
                "correct the column, or leave such cells empty and use --missing impute",
            )
        return NumberColumn(self.column, checked_numbers(column, self.column), fill)

    def _codes(self, column: pd.Series) -> NDArray[np.int64]:
        assert self.levels is not None
        texts = [None if gap else spelled(v) for v, gap in zip(column, column.isna(), strict=True)]
        place = {level: number for number, level in enumerate(self.levels)}
        unknown = list(dict.fromkeys(t for t in texts if t is not None and t not in place))
        if unknown:
            # All zeros would be read as the first of two levels.
            raise GraphError(
                f"column {self.column!r}",
                f"{listed(unknown, 3)}, which the model was not trained on",
                listed(self.levels, 10),
                "recode it, or leave such cells empty and use --missing impute",
            )
        return np.array([-1 if t is None else place[t] for t in texts], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Encoding:
    """From the columns of a training table to features.

    Args:
        columns: those that became features, in their order, the sensitive one among them.
        sensitive: the sensitive one.
        groups: its values that count as 0 and 1.
        low, high: of every feature, scaled to −1 and 1.
        mean, spread: of every feature, where rows were standardized before they were compared.
    """

    columns: tuple[ColumnCode, ...]
    sensitive: str
    groups: tuple[str, str]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        features: Sequence[FeatureColumn],
        groups: TwoValues,
        sensitive: str,
        table: EncodedTable,
        *,
        standardize: bool,
    ) -> Self:
        """That of a training table; `table` is not yet standardized."""
        moments: list[tuple[float, ...]] = []
        if standardize:
            mean, spread = table.moments()
            table = table.standardized(mean, spread)
            moments = [tuple(mean.tolist()), tuple(spread.tolist())]
        low, high = table.values.min(axis=0), table.values.max(axis=0)
        codes = [ColumnCode.of(column) for column in features]
        used = tuple(code for code in codes if code.features)
        ends = tuple(low.tolist()), tuple(high.tolist())
        return cls(used, sensitive, groups.names, *ends, *moments)

    def names(self) -> list[str]:
        """The columns that the model uses, in their order."""
        return [code.column for code in self.columns]

    def scale(self, sens_column: int) -> ColumnScale:
        """From unscaled features to those of the model."""
        low, high = torch.tensor([self.low, self.high], dtype=torch.float64)
        return ColumnScale(low, high, sens_column)

    def standardized(self, table: EncodedTable) -> EncodedTable:
        """By the mean and spread of the training table; unchanged if that compared raw columns."""
        if self.mean is None or self.spread is None:
            return table
        return table.standardized(np.array(self.mean), np.array(self.spread))

    def text_columns(self) -> tuple[str, ...]:
        """Columns to be read as text, even if these people's cells could be numbers."""
        return tuple(c.column for c in self.columns if c.levels and not set(c.levels) <= _BOOLEANS)

    def check(self, names: Sequence[str], columns: TableColumns) -> None:
        """Refuse a table that lacks a column of the model, or gives it another role."""
        one = columns.sensitive_one
        if columns.sensitive != self.sensitive:
            next_step = f"use --sensitive {self.sensitive}"
            raise _unlike("--sensitive", repr(columns.sensitive), repr(self.sensitive), next_step)
        if one is not None and spelled(one) != self.groups[1]:
            raise _unlike("--sensitive-one", repr(one), repr(self.groups[1]), "leave it out")
        if columns.rule is not None and columns.standardize and self.mean is None:
            raise _unlike("--standardize", "columns to be standardized", "none", "leave it out")
        if columns.rule is not None and not columns.standardize and self.mean is not None:
            raise _unlike("--standardize", "none", "it", "add --standardize")
        aside = {columns.label: "--label", columns.id: "--id"}
        aside |= dict.fromkeys(columns.drop, "--drop")
        for name in self.names():
            if name not in names or name in aside:
                raise GraphError(
                    f"column {name!r}, which the model was trained on",
                    f"{aside[name]} {name}" if name in aside else "no column of that name",
                    f"a table with {', '.join(self.names())}",
                    "leave that option out" if name in aside else "add the column",
                )

    def groups_of(self, column: pd.Series) -> TwoValues:
        """The sensitive attribute, coded as in training; one of the groups may be absent."""
        return known_groups(column, self.sensitive, self.groups)

    def write(self, path: Path) -> None:
        """As JSON."""
        write_json(path, {"format": _FORMAT, **asdict(self)})

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` wrote."""
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if held.pop("format") != _FORMAT:
                raise ValueError("another format")
            columns = tuple(ColumnCode(**_tuples(code)) for code in held.pop("columns"))
            found = cls(columns, **_tuples(held))
            width = sum(len(code.features) for code in columns)
            if not width == len(found.low) == len(found.high) or len(found.groups) != 2:
                raise ValueError("another width")
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileError(
                f"file {path}",
                "no encoding of a table",
                "the file that fairgear run wrote beside the model",
                "run fairgear run again into a new folder",
            ) from error
        return found

    @classmethod
    def of_model(cls, folder: Path) -> Self | None:
        """How the training data of a saved model were encoded; None where they were no table."""
        path = folder / ENCODING
        return cls.read(path) if path.exists() else None


def _unlike(option: str, got: str, trained: str, next_step: str) -> GraphError:
    return GraphError(option, got, f"{trained}, as the model was trained", next_step)


def _tuples(held: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in held.items()}

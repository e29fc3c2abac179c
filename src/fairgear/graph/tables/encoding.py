"""Encoding: how a table became features, so that a model reads other tables the same way."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch

from fairgear.column_names import CONTINUOUS, listed
from fairgear.decoding import from_json
from fairgear.documents import read_json, sealed, unsealed
from fairgear.errors import GraphError
from fairgear.files import json_text, write_json
from fairgear.graph.attributes import Attributes
from fairgear.graph.similarity_mechanism import ColumnScale
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.features import (
    DATES,
    NUMBERS,
    FeatureColumn,
    Floats,
    LevelColumn,
    NumberColumn,
    checked_numbers,
)
from fairgear.graph.tables.labels import CLASSIFICATION, REGRESSION, LabelColumn
from fairgear.graph.tables.values import Value, known_codes, spelled, unusable
from fairgear.reading import reading

# Beside a model that was trained on a user's file, and in the folder of a stored graph.
ENCODING = "encoding.json"
_FORMAT = 1
_BOOLEANS = {"False", "True"}


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
    def of(cls, column: FeatureColumn, features: tuple[str, ...]) -> Self:
        """The code of a training column without gaps."""
        if isinstance(column, NumberColumn):
            return cls(column.name, features, None, float(np.median(column.values)))
        present, counts = np.unique(column.codes, return_counts=True)
        levels = tuple(column.levels[code] for code in present)
        return cls(column.name, features, levels, levels[int(counts.argmax())])

    def read(self, column: pd.Series) -> FeatureColumn:
        """The same column of other people."""
        empty = "leave such cells empty and use --missing impute"
        if self.levels is not None:
            # An unknown level is refused: all zeros would be read as the first of two levels.
            codes = known_codes(column, self.column, self.levels, f"recode it, or {empty}")
            fill_code = self.levels.index(str(self.fill))
            return LevelColumn(self.column, codes, self.levels, fill_code, self.features)
        fill = float(self.fill or 0)
        if column.isna().all():
            return NumberColumn(self.column, np.full(len(column), np.nan), fill)
        if pd.api.types.infer_dtype(column, skipna=True) not in (*NUMBERS, *DATES):
            shown = dict.fromkeys(spelled(value) for value in column.dropna())
            raise GraphError(
                f"column {self.column!r}",
                f"no numbers, such as {listed(shown, 2)}",
                "numbers, as the model was trained on",
                f"correct the column, or {empty}",
            )
        return NumberColumn(self.column, checked_numbers(column, self.column), fill)


@dataclass(frozen=True, eq=False, repr=False)
class Encoding:
    """From the columns of a training table to features.

    Args:
        columns: those that became features, in their order. The sensitive one is among them where
            it has two groups or is a number.
        sensitive: the sensitive one, or several, joined by commas.
        groups: the names of its groups, which are numbered from 0; none for a number.
        low, high: of every feature, scaled to −1 and 1.
        mean, spread: of every feature, where rows were standardized before they were compared.
        against: the value of the sensitive column that was compared with all others, if one was.
        task: "classification" or "regression" where the label has not two values.
        classes: those of a label with several, in their order.
        attributes: the sensitive attributes, where several make the groups, or one is a number.
    """

    columns: tuple[ColumnCode, ...]
    sensitive: str
    groups: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    against: str | None = None
    task: str = ""
    classes: tuple[str, ...] = ()
    attributes: Attributes | None = None

    @classmethod
    def of(
        cls,
        columns: Iterable[FeatureColumn],
        sensitive: str,
        groups: tuple[str, ...],
        notes: list[str],
        *,
        against: Value | None = None,
        alone: bool = False,
    ) -> Self:
        """That of a training table without gaps; constant text is left out.

        `alone` says that there may be nothing but the sensitive attribute.
        """
        codes: list[ColumnCode] = []
        ends: dict[str, tuple[float, float]] = {}
        for column in columns:
            encoded = column.encoded()
            if not encoded:
                notes.append(f"left out column {column.name!r}: everybody has the same value")
                continue
            codes.append(ColumnCode.of(column, tuple(encoded)))
            for name, values in encoded.items():
                if name in ends:
                    got = f"a feature called {name!r}, which another column has made already"
                    raise unusable(column.name, got, "names that differ", "rename it")
                ends[name] = float(values.min()), float(values.max())
        if set(ends) <= {sensitive} and not alone:
            got = f"no column besides the sensitive one, {sensitive!r}"
            raise GraphError("features", got, "at least one more", "add columns, or drop fewer")
        low, high = zip(*ends.values(), strict=True) if ends else ((), ())
        one = None if against is None else spelled(against)
        return cls(tuple(codes), sensitive, groups, low, high, against=one)

    def __repr__(self) -> str:
        return f"Encoding({len(self.columns)} columns, {len(self.low)} features)"

    @property
    def continuous(self) -> bool:
        """Whether the sensitive attribute is a number."""
        return self.attributes is not None and self.attributes.continuous

    @property
    def names(self) -> list[str]:
        """The columns that the model uses, in their order."""
        return [code.column for code in self.columns]

    @property
    def feature_names(self) -> list[str]:
        """The features that they became."""
        return [name for code in self.columns for name in code.features]

    @property
    def sens_column(self) -> int | None:
        """The sensitive one among the features, where it is there."""
        names = self.feature_names
        return names.index(self.sensitive) if self.sensitive in names else None

    @property
    def scale(self) -> ColumnScale:
        """From unscaled features to those of the model."""
        low, high = torch.tensor([self.low, self.high], dtype=torch.float64)
        return ColumnScale(low, high, self.sens_column)

    def for_label(self, label: LabelColumn) -> Self:
        """The same encoding, which reads labels as these; two classes are read anew each time."""
        if label.is_number:
            return replace(self, task=REGRESSION, classes=())
        if len(label.names) == 2:
            return replace(self, task="", classes=())
        return replace(self, task=CLASSIFICATION, classes=label.names)

    def with_moments(self, values: Floats) -> Self:
        """The same encoding that also standardizes, by the moments of the training features."""
        mean, spread = (
            tuple(moment.tolist()) for moment in (values.mean(axis=0), values.std(axis=0))
        )
        found = replace(self, mean=mean, spread=spread)
        low, high = found.standardized(np.array([self.low, self.high])).tolist()
        return replace(found, low=tuple(low), high=tuple(high))

    def standardized(self, values: Floats) -> Floats:
        """Features less their mean, over their spread unless that is 0; the sensitive one as is.

        Unchanged if the rows of the training table were compared as they are.
        """
        if self.mean is None or self.spread is None:
            return values
        spread = np.array(self.spread)
        scaled: Floats = (values - np.array(self.mean)) / np.where(spread > 0, spread, 1.0)
        if self.sens_column is not None:
            scaled[:, self.sens_column] = values[:, self.sens_column]
        return scaled

    def unstandardized(self, values: Floats) -> Floats:
        """What `standardized` made these values of."""
        if self.mean is None or self.spread is None:
            return values
        spread = np.array(self.spread)
        found: Floats = values * np.where(spread > 0, spread, 1.0) + np.array(self.mean)
        if self.sens_column is not None:
            found[:, self.sens_column] = values[:, self.sens_column]
        return found

    @property
    def unit(self) -> tuple[int, float] | None:
        """See `SimilarityRule`: that of a sensitive number where the others are standardized."""
        if not self.continuous or self.spread is None or self.sens_column is None:
            return None
        return self.sens_column, self.spread[self.sens_column]

    def text_columns(self) -> tuple[str, ...]:
        """Columns to be read as text, even if these people's cells could be numbers."""
        return tuple(c.column for c in self.columns if c.levels and not set(c.levels) <= _BOOLEANS)

    def check(self, names: Sequence[str], columns: TableColumns) -> None:
        """Refuse a table that lacks a column of the model, or gives it another role."""
        self._check_sensitive(columns)
        if columns.rule is not None and columns.standardize and self.mean is None:
            raise _unlike("--standardize", "columns to be standardized", "none", "leave it out")
        if columns.rule is not None and not columns.standardize and self.mean is not None:
            raise _unlike("--standardize", "none", "it", "add --standardize")
        if self.task and columns.label is not None and columns.task not in (None, self.task):
            raise _unlike("--task", repr(columns.task), repr(self.task), "leave it out")
        aside = {columns.label: "--label", columns.id: "--id"}
        aside |= dict.fromkeys(columns.drop, "--drop")
        for name in self.names:
            if name not in names or name in aside:
                raise GraphError(
                    f"column {name!r}, which the model was trained on",
                    f"{aside[name]} {name}" if name in aside else "no column of that name",
                    f"a table with {', '.join(self.names)}",
                    "leave that option out" if name in aside else "add the column",
                )

    def _check_sensitive(self, columns: TableColumns) -> None:
        """Refuse another attribute, or the same one read in another way."""
        one = columns.sensitive_one
        if columns.sensitive != self.sensitive:
            next_step = f"use --sensitive {shlex.quote(self.sensitive)}"
            raise _unlike("--sensitive", repr(columns.sensitive), repr(self.sensitive), next_step)
        if columns.against is not None and spelled(columns.against) != self.against:
            trained = "none" if self.against is None else repr(self.against)
            raise _unlike("--sensitive-against", repr(columns.against), trained, "leave it out")
        if one is not None and (self.continuous or spelled(one) != self.groups[1]):
            trained = "none" if self.continuous else repr(self.groups[1])
            raise _unlike("--sensitive-one", repr(one), trained, "leave it out")
        for name, kind in columns.sensitive_kind.items():
            if (kind == CONTINUOUS) != self.continuous:
                trained = "a number" if self.continuous else "groups"
                raise _unlike("--sensitive-kind", repr(f"{name}={kind}"), trained, "leave it out")

    def write(self, path: Path) -> None:
        """As JSON."""
        write_json(path, sealed({"format": _FORMAT, **self._held()}), private=True)

    def text(self) -> str:
        """The same of encodings that read every table alike."""
        return json_text(self._held())

    def _held(self) -> dict[str, Any]:
        held = asdict(self)
        if self.against is None:
            # As before there was such a thing: the same encoding is the same file.
            del held["against"]
        if self.attributes is None:
            del held["attributes"]
        return held

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` wrote."""
        got, allowed = "no encoding of a table", "the file that fairgear run wrote beside the model"
        step = "run fairgear run again into a new folder"
        held = read_json(path, got, allowed, step)
        with reading(path, got, allowed, step):
            held = unsealed(held)
            if held.get("format") != _FORMAT:
                raise ValueError("another format")
            found = from_json(cls, held)
            found._check()
        return found

    def _check(self) -> None:
        """Refuse what no table gives."""
        width = sum(len(code.features) for code in self.columns)
        numbers = [self.low, self.high, *filter(None, (self.mean, self.spread))]
        if any(len(held) != width for held in numbers):
            raise ValueError("another width")
        if not np.isfinite([value for held in numbers for value in held]).all():
            raise ValueError("a number that is undefined")
        if len(self.groups) < 2 and not self.continuous:
            raise ValueError("a single group")
        for code in self.columns:
            levels = code.levels
            if levels is not None and str(code.fill) not in levels:
                raise ValueError(f"column {code.column!r} is filled with what it never held")
            if levels is None and isinstance(code.fill, str):
                raise ValueError(f"column {code.column!r} is filled with text")

    @classmethod
    def of_folder(cls, folder: Path) -> Self | None:
        """That of a saved model's training data, or of a stored graph; None if it was no table."""
        path = folder / ENCODING
        return cls.read(path) if path.exists() else None


def _unlike(option: str, got: str, trained: str, next_step: str) -> GraphError:
    return GraphError(option, got, f"{trained}, as the model was trained", next_step)

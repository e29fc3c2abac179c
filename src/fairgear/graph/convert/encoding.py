"""What a model must know of the table it was trained on, to read another one the same way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairgear.errors import FileError, GraphError
from fairgear.files import write_json
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoded_table import EncodedTable
from fairgear.graph.convert.features import FeatureColumn
from fairgear.graph.convert.known_columns import ColumnCode
from fairgear.graph.convert.spelling import spelled
from fairgear.graph.convert.two_values import TwoValues, known_values
from fairgear.graph.scaling import ColumnScale

# Beside a model that was trained on a user's file, and in the folder of a stored graph.
ENCODING = "encoding.json"
_FORMAT = 1
_TRUTH = {"False", "True"}


@dataclass(frozen=True, eq=False)
class Encoding:
    """From columns to features, as the training had it.

    Args:
        columns: those that became features, in their order, the sensitive one among them.
        sensitive: the sensitive one.
        groups: its values that count as 0 and 1.
        low, high: the ends of every feature, which become −1 and 1.
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
        """That of a training table, `table` as it is before it is standardized."""
        codes = (ColumnCode.of(column) for column in features)
        mean, spread = table.moments() if standardize else (None, None)
        raw = table.standardized(mean, spread).values if standardize else table.values
        ends = (raw.min(axis=0), raw.max(axis=0), mean, spread)
        low, high, *moments = (None if e is None else tuple(e.tolist()) for e in ends)
        assert low is not None
        assert high is not None
        used = tuple(code for code in codes if code.features)
        return cls(used, sensitive, groups.names, low, high, moments[0], moments[1])

    def names(self) -> list[str]:
        """The columns that the model uses, in their order."""
        return [code.column for code in self.columns]

    def scale(self, sens_column: int) -> ColumnScale:
        """From raw features to those of the model."""
        return ColumnScale(_floats(self.low), _floats(self.high), sens_column)

    def standardized(self, table: EncodedTable) -> EncodedTable:
        """By the training's means and spreads, so that one stranger moves nobody else; as it is
        where the training compared raw columns."""
        if self.mean is None or self.spread is None:
            return table
        return table.standardized(np.array(self.mean), np.array(self.spread))

    def text_columns(self) -> tuple[str, ...]:
        """Columns to be read as text, even where these people's could be numbers."""
        return tuple(c.column for c in self.columns if c.levels and not set(c.levels) <= _TRUTH)

    def check(self, names: Sequence[str], columns: TableColumns) -> None:
        """A table of which every column that the model needs is there, each in its role."""
        if columns.sensitive != self.sensitive:
            raise GraphError(
                "--sensitive",
                repr(columns.sensitive),
                f"{self.sensitive!r}, as the model was trained",
                f"use --sensitive {self.sensitive}",
            )
        one = columns.sensitive_one
        if one is not None and spelled(one) != self.groups[1]:
            raise GraphError(
                "--sensitive-one",
                repr(one),
                f"{self.groups[1]!r}, as the model was trained",
                "leave it out",
            )
        if columns.rule is not None and columns.standardize != (self.mean is not None):
            raise GraphError(
                "--standardize",
                "none" if self.mean is not None else "columns to be standardized",
                "as the model was trained",
                "leave it out" if self.mean is None else "add --standardize",
            )
        aside = {columns.label: "--label", columns.id: "--id"}
        aside |= dict.fromkeys(columns.drop, "--drop")
        for code in self.columns:
            name = code.column
            if name not in names or name in aside:
                raise GraphError(
                    f"column {name!r}, which the model was trained on",
                    f"{aside[name]} {name}" if name in aside else "no column of that name",
                    f"a table with {', '.join(c.column for c in self.columns)}",
                    "leave that option out" if name in aside else "add the column",
                )

    def groups_of(self, column: pd.Series) -> TwoValues:
        """The sensitive attribute, coded as in the training; one group alone will do."""
        return known_values(column, self.sensitive, self.groups)

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
            columns = tuple(ColumnCode(**_tupled(code)) for code in held.pop("columns"))
            found = cls(columns, **_tupled(held))
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


def _tupled(held: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in held.items()}


def _floats(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)

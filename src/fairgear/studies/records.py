"""Records: one row for each finished run, in a CSV file that grows as runs finish."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.decoding import typed
from fairgear.documents import json_of
from fairgear.errors import FileError
from fairgear.files import replacing, taking_turns
from fairgear.metrics import METRICS
from fairgear.reading import reading, regular_file
from fairgear.studies.spec import Cell, Key

KEY = ("dataset", "method", "split", "seed")
NUMBERS = (*METRICS, "seconds")


class Records:
    """The rows of finished runs, from this machine or from another.

    Args:
        path: the CSV file; rows of other studies that it holds are kept.
        digits: significant digits of new rows; None for all. Fewer keep the file small.
    """

    def __init__(self, path: Path, digits: int | None = None) -> None:
        self.path = path
        self.digits = digits
        self._rows = _read(path)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._rows

    def add(self, cell: Cell, row: Mapping[str, Any]) -> None:
        """Keep the row of a run, and write the file."""
        # Rounded as the file has it: an interrupted study must not differ from a whole one.
        new = {cell.key: {name: self._rounded(value) for name, value in row.items()}}
        with taking_turns(self.path):
            # Another command may have added to the same file.
            self._rows = self._rows | _read(self.path) | new
            rows = [self._rows[key] for key in sorted(self._rows)]
            write_csv(pd.DataFrame(rows), self.path)

    def of(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The rows of these cells, as far as they exist, in this order."""
        found = [self._rows[cell.key] for cell in cells if cell in self]
        return pd.DataFrame(found, columns=None if found else [*KEY, *NUMBERS, "commit"])

    def _rounded(self, value: Any) -> Any:
        if value is None:
            return math.nan
        if self.digits is None or not isinstance(value, float):
            return value
        return float(f"{value:.{self.digits}g}")


@dataclass(frozen=True)
class Columns:
    """What the columns of a file of rows hold; those that are not named here are text.

    Attributes:
        key: they distinguish a row from all others, and are never empty.
        whole: whole numbers.
        numbers: other numbers; empty for NaN.
        needed: those that every file has, besides the key.
        documents: those that hold JSON, and of what type.
    """

    key: tuple[str, ...]
    whole: tuple[str, ...]
    numbers: tuple[str, ...]
    needed: tuple[str, ...]
    documents: Mapping[str, Any] = field(default_factory=dict)

    def read(self, path: Path) -> list[dict[str, Any]]:
        """The rows of a file; none where there is no file."""
        if not os.path.exists(path):
            return []
        regular_file(path, "rows")
        got, allowed = "no table of finished runs", "a CSV file that fairgear has written"
        step = "choose another file, or remove that one"
        with (
            reading(path, got, allowed, step, what="rows", also=(csv.Error,)),
            path.open(encoding="utf-8", newline="") as file,
        ):
            reader = csv.DictReader(file, strict=True)
            if not {*self.key, *self.needed} <= {*(reader.fieldnames or ())}:
                raise ValueError("columns are missing")
            return [self._parse(row) for row in reader]

    def _parse(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """A row as it was written; a line of another length than the head has a None."""
        if None in texts or None in texts.values() or not all(texts[name] for name in self.key):
            raise ValueError("a line of another length, or without a key")
        for name, kind in self.documents.items():
            typed(kind, json_of(texts[name], constants=True), name)
        row: dict[str, Any] = {**texts} | {name: int(texts[name]) for name in self.whole}
        # What was not measured then, or not under this name, is unknown.
        return row | {name: float(texts[name] or "nan") for name in self.numbers if name in texts}


class Rows:
    """Rows of one kind in a CSV file that several processes may add to.

    Args:
        path: the file.
        columns: what it holds.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self.columns = columns
        self._rows = self._read(path)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._rows

    def __getitem__(self, key: tuple[Any, ...]) -> dict[str, Any]:
        return self._rows[key]

    def all(self) -> list[dict[str, Any]]:
        """Sorted by their key."""
        return [self._rows[key] for key in sorted(self._rows)]

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Keep rows, and write the file."""
        with taking_turns(self.path):
            # Another process may have added to the same file.
            self._rows |= self._read(self.path) | self._by_key(rows)
            write_csv(pd.DataFrame(self.all()), self.path)

    def add_file(self, path: Path) -> None:
        """Keep the rows of another file, too."""
        if not os.path.exists(path):
            raise FileError(f"rows {path}", "no such file", "a file of rows", "check the path")
        self.add(*self._read(path).values())

    def _read(self, path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
        return self._by_key(self.columns.read(path))

    def _by_key(self, rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
        return {tuple(row[name] for name in self.columns.key): dict(row) for row in rows}


def _read(path: Path) -> dict[Key, dict[str, Any]]:
    # Rows of before devices were noted have none.
    rows = [{**row, "device": row.get("device", "")} for row in _COLUMNS.read(path)]
    # Version 0.1 numbered the revisions of a method; the last one counts.
    rows.sort(key=lambda row: int(row.pop("revision", 1)))
    return {(row["dataset"], row["method"], row["split"], row["seed"]): row for row in rows}


_COLUMNS = Columns(KEY, ("seed",), NUMBERS, ("auroc", "seconds"))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in one step."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False)

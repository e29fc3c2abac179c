"""Records: one row for each finished run, in a CSV file that grows as runs finish."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.errors import FileError
from fairgear.files import replacing, taking_turns
from fairgear.metrics import METRICS
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


def _read(path: Path) -> dict[Key, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            if not {*KEY, "auroc", "seconds"} <= {*(reader.fieldnames or ())}:
                raise ValueError("columns are missing")
            rows = [_parse(row) for row in reader]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise FileError(
            f"rows {path}",
            "no table of finished runs",
            "a CSV file that fairgear has written",
            "choose another file, or remove that one",
        ) from error
    # Version 0.1 numbered the revisions of a method; the last one counts.
    rows.sort(key=lambda row: int(row.pop("revision", 1)))
    return {(row["dataset"], row["method"], row["split"], row["seed"]): row for row in rows}


def _parse(texts: Mapping[str, str]) -> dict[str, Any]:
    """A row as it was written; a line of another length than the head has the key or value None."""
    if None in texts or None in texts.values() or not all(texts[name] for name in KEY):
        raise ValueError("a line of another length, or without a key")
    row: dict[str, Any] = {**texts, "seed": int(texts["seed"])}
    # What was not measured then, or not under this name, is unknown.
    row |= {name: float(texts[name] or "nan") for name in NUMBERS if name in texts}
    # Rows of before devices were noted have none.
    return row | {"device": texts.get("device", "")}


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in one step."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False)

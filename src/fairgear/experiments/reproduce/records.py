"""Records: one row for each finished run, in a small CSV file that grows as runs finish."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.errors import FileError
from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce.revisions import revision
from fairgear.files import replacing, taking_turns
from fairgear.metrics import METRICS

Key = tuple[str, str, str, int, int]
KEY = ("dataset", "method", "split", "seed", "revision")
# Seven digits are more than any figure deserves, and keep the file small.
DIGITS = 7
# A commit of digits alone is no number, and a seed is a whole one.
KINDS = dict.fromkeys(("dataset", "method", "split", "version", "commit", "device"), "str")
KINDS |= dict.fromkeys(("seed", "revision"), "int64")
KINDS |= dict.fromkeys((*METRICS, "seconds"), "float64")


class Records:
    """What runs have given, whoever made them and wherever.

    Args:
        path: the CSV file; rows of other plans that it holds stay in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = {_key(row): row for row in _read(path)}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, cell: Cell) -> bool:
        return key_of(cell) in self._rows

    def add(self, cell: Cell, results: dict[str, Any]) -> None:
        """Keep the results of a run."""
        row = {**cell.row(results), "revision": revision(cell.entry)}
        # As it will be read again: an interrupted study must not differ from a whole one.
        self._rows[key_of(cell)] = {name: _rounded(value) for name, value in row.items()}
        with taking_turns(self.path):
            # Another command may have added to the same file.
            self._rows = {_key(other): other for other in _read(self.path)} | self._rows
            ordered = [self._rows[key] for key in sorted(self._rows)]
            with replacing(self.path) as temporary:
                pd.DataFrame(ordered).to_csv(temporary, index=False)

    def of(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The rows of those cells that are there, in their order."""
        found = [self._rows[key_of(cell)] for cell in cells if cell in self]
        return pd.DataFrame(found, columns=None if found else [*KEY, *METRICS, "seconds", "commit"])


def key_of(cell: Cell) -> Key:
    """What tells the run apart from all others."""
    config = cell.config
    return config.dataset, cell.entry.label, config.split, config.seed, revision(cell.entry)


def _key(row: dict[str, Any]) -> Key:
    dataset, method, split, seed, number = (row[name] for name in KEY)
    return str(dataset), str(method), str(split), int(seed), int(number)


def _rounded(value: Any) -> Any:
    if value is None:
        return math.nan
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        rows = pd.read_csv(path, dtype=KINDS)
        missing = [name for name in (*KEY, *METRICS, "seconds") if name not in rows.columns]
        # Lines longer than the head would be taken for lines with a name.
        fine = not missing and isinstance(rows.index, pd.RangeIndex)
        fine = fine and bool(rows[list(KEY)].notna().all(axis=None))
    except (OSError, ValueError):
        fine = False
    if not fine:
        raise FileError(
            f"rows {path}",
            "no table of finished runs",
            "a CSV file that fairgear reproduce has written",
            "choose another --rows, or remove that file",
        )
    texts = [name for name, kind in KINDS.items() if kind == "str" and name in rows.columns]
    rows[texts] = rows[texts].fillna("")
    if "device" not in rows.columns:
        # Of a time when rows did not say.
        rows["device"] = ""
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]

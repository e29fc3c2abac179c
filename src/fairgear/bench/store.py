"""The rows of a benchmark run: written as they come, and read again to go on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairgear.bench.config import Bench
from fairgear.errors import FileError
from fairgear.files import write_json, write_text

COLUMNS = (
    "case",
    "kind",
    "n",
    "edges",
    "side",
    "against",
    "unit",
    "seconds",
    "median",
    "setup_seconds",
    "units",
    "repeats",
    "whole",
    "ratio",
    "peak_mb",
    "process_mb",
    "gpu_mb",
    "operations",
    "bytes",
    "accesses",
    "rate",
    "note",
    "checks",
    "device",
    "threads",
    "commit",
    "measured",
)
MACHINE = "machine"
Row = dict[str, Any]
Cell = tuple[str, str, int]


class Store:
    """results.json and results.csv of a folder.

    A folder belongs to one set of settings: rows that were measured otherwise are not to be
    compared. Sizes, kinds and cases may be added.
    """

    def __init__(self, folder: Path, plan: Bench) -> None:
        self.folder = folder
        self.json, self.csv = folder / "results.json", folder / "results.csv"
        self.settings = plan.settings()
        self.rows: list[Row] = []
        self.finished: set[Cell] = set()
        _check_folder(folder)
        if self.json.exists():
            self._read()

    def add(self, cell: Cell, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows of a cell (case, kind, n)."""
        case, kind, n = cell
        for row in rows:
            found = {"case": case, "kind": kind, "n": n, **row}
            self.rows.append({name: found.get(name) for name in COLUMNS})
        self._write()

    def begin(self, cell: Cell) -> None:
        """Drop what an interrupted measurement of a cell has left."""
        self.rows = [row for row in self.rows if cell_of(row) != cell]

    def finish(self, cell: Cell) -> None:
        """Nothing of this cell is to be measured again."""
        self.finished.add(cell)
        self._write()

    def _write(self) -> None:
        from csv import DictWriter
        from io import StringIO

        text = StringIO()
        writer = DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.csv, text.getvalue())
        cells = sorted(self.finished)
        write_json(self.json, {"settings": self.settings, "finished": cells, "rows": self.rows})

    def _read(self) -> None:
        try:
            found = json.loads(self.json.read_text(encoding="utf-8"))
            settings, rows = found["settings"], [dict(row) for row in found["rows"]]
            finished = {(str(case), str(kind), int(n)) for case, kind, n in found["finished"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"results {self.json}",
                "something that fairgear bench did not write",
                "its own results, to go on from",
                "choose another --out, or delete that file",
            ) from error
        for name, value in self.settings.items():
            if settings.get(name) != value:
                raise FileError(
                    f"results {self.json}",
                    f"{name} {settings.get(name)}",
                    f"{name} {value}, as this command says",
                    "choose another --out, or delete that folder",
                )
        self.rows, self.finished = rows, finished


def _check_folder(folder: Path) -> None:
    """Make it: what cannot be written is known before minutes have gone into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"--out {folder}",
            (error.strerror or "an error").lower(),
            "a folder, there already or to be made",
            "choose another --out",
        ) from error


def cell_of(row: Mapping[str, Any]) -> Cell:
    """What a row belongs to."""
    return str(row["case"]), str(row["kind"]), int(row["n"])


def rates_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The machine's limits by name and device, such as "GEMM cpu"."""
    return {
        f"{row['side']} {row['device']}": float(row["rate"])
        for row in rows
        if row["case"] == MACHINE and row["rate"]
    }

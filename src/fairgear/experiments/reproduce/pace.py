"""Pace: how long the runs that are left will take, by those that are done."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce.records import Records

Line = tuple[str, str]


class Pace:
    """Seconds of a run: those of this study's own, else what rows of other machines let expect.

    A run is taken for one of its line, dataset and method, else for one of its dataset. How much
    faster or slower this machine is shows as soon as it has made runs whose lines the rows know.

    Args:
        records: what had been measured when the study began.
        cells: the plan.
    """

    def __init__(self, records: Records, cells: Sequence[Cell]) -> None:
        rows = records.of(cells)
        self._before = _Means(
            [((row["dataset"], row["method"]), row["seconds"]) for _, row in rows.iterrows()]
        )
        self._runs: list[tuple[Line, float]] = []
        self._own = _Means([])
        self._factor = 1.0

    def add(self, cell: Cell, seconds: float) -> None:
        """A run has come to its end."""
        self._runs.append((_line(cell), seconds))
        self._own = _Means(self._runs)
        before = [(self._before.of_line(line), seconds) for line, seconds in self._runs]
        compared = [(expected, seconds) for expected, seconds in before if expected]
        if compared:
            expected, taken = (sum(part) for part in zip(*compared, strict=True))
            self._factor = taken / expected

    def seconds(self, cell: Cell) -> float:
        """Of one run; NaN while nothing is known."""
        line, factor = _line(cell), self._factor
        guesses = (
            (self._own.of_line(line), 1.0),
            (self._before.of_line(line), factor),
            (self._own.of_dataset(line[0]), 1.0),
            (self._before.of_dataset(line[0]), factor),
            (self._own.of_any(), 1.0),
            (self._before.of_any(), factor),
        )
        return next((weight * one for one, weight in guesses if one is not None), math.nan)

    def left(self, cells: Sequence[Cell], jobs: int) -> str:
        """In words, for so many runs at once."""
        if not cells:
            return "done"
        total = sum(self.seconds(cell) for cell in cells) / min(jobs, len(cells))
        return "time left unknown" if math.isnan(total) else f"about {in_words(total)} left"


class _Means:
    """Mean seconds by line, by dataset, and of all."""

    def __init__(self, rows: Sequence[tuple[Line, float]]) -> None:
        self._rows = pd.DataFrame(
            [(dataset, method, float(seconds)) for (dataset, method), seconds in rows],
            columns=["dataset", "method", "seconds"],
        )
        self._lines = self._rows.groupby(["dataset", "method"])["seconds"].mean().to_dict()
        self._datasets = self._rows.groupby("dataset")["seconds"].mean().to_dict()

    def of_line(self, line: Line) -> float | None:
        return self._lines.get(line)

    def of_dataset(self, dataset: str) -> float | None:
        return self._datasets.get(dataset)

    def of_any(self) -> float | None:
        return float(self._rows["seconds"].mean()) if len(self._rows) else None


def _line(cell: Cell) -> Line:
    return cell.config.dataset, cell.entry.label


def in_words(seconds: float) -> str:
    """`40 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"

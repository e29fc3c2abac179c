"""Pace: how long the runs that are left will take, by those that are done."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd

from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce.records import Records


class Pace:
    """Seconds of a run, expected from runs of the same method, else of the same dataset.

    Args:
        records: what has been measured.
        cells: the plan.
    """

    def __init__(self, records: Records, cells: Sequence[Cell]) -> None:
        rows = records.of(cells)
        self._by_line: dict[Hashable, float] = {}
        self._by_dataset: dict[Hashable, float] = {}
        self._any = float("nan")
        if len(rows):
            seconds = rows["seconds"].astype(float)
            self._by_line = seconds.groupby([rows["dataset"], rows["method"]]).mean().to_dict()
            self._by_dataset = seconds.groupby(rows["dataset"]).mean().to_dict()
            self._any = float(seconds.mean())

    def seconds(self, cell: Cell) -> float:
        """Of one run; NaN while nothing is known."""
        dataset, label = cell.config.dataset, cell.entry.label
        among = self._by_dataset.get(dataset, self._any)
        return self._by_line.get((dataset, label), among)

    def left(self, cells: Sequence[Cell], jobs: int) -> str:
        """In words, for so many runs at once."""
        if not cells:
            return "done"
        total = sum(self.seconds(cell) for cell in cells) / min(jobs, len(cells))
        return "time left unknown" if pd.isna(total) else f"about {in_words(total)} left"


def in_words(seconds: float) -> str:
    """`40 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"

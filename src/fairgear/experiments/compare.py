"""Methods side by side: one run for each dataset, method and seed, and tables of what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.datasets import DATASETS
from fairgear.errors import ParameterError
from fairgear.experiments.cell import Cell
from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.compare_table import summary, to_latex, to_markdown
from fairgear.experiments.compare_verdicts import verdicts
from fairgear.experiments.published import SPLIT, beside_published, published_markdown
from fairgear.files import replacing, write_text
from fairgear.methods import METHODS
from fairgear.progress import bar, log, quiet
from fairgear.runs import WorldsCache, run

ALL = "all"


@dataclass(frozen=True)
class Plan:
    """Every run of a comparison, in the order in which they are made.

    Args:
        datasets: names from `DATASETS`.
        entries: what to compare.
        seeds: how many, from 0.
        split: the same for all.
    """

    datasets: tuple[str, ...]
    entries: tuple[Entry, ...]
    seeds: int
    split: str

    @classmethod
    def of(cls, datasets: Sequence[str], methods: Sequence[str], seeds: int, split: str) -> Plan:
        """A checked plan, each entry once.

        Args:
            datasets: names from `DATASETS`.
            methods: see `Entry`; "all" stands for every method with its defaults.
            seeds: how many.
            split: its name.
        """
        if seeds < 1:
            raise ParameterError("seeds", seeds, "at least 1", "use 3, or 10 for a paper")
        for name in datasets:
            _ = DATASETS[name]
        named = [name for text in methods for name in (METHODS if text == ALL else (text,))]
        entries = tuple(Entry.of(name) for name in dict.fromkeys(named))
        return cls(tuple(dict.fromkeys(datasets)), entries, seeds, split)

    def runs(self) -> list[Cell]:
        """One seed of everything before the next: an interrupted comparison has whole rows."""
        return [
            Cell(entry, entry.run(dataset, seed, self.split))
            for seed in range(self.seeds)
            for dataset in self.datasets
            for entry in self.entries
        ]


def execute_comparison(plan: Plan, folder: Path) -> pd.DataFrame:
    """Make the runs that are not there yet and write the tables; returns one row a run.

    Every run has its folder under `runs/`, so that a rerun skips what is done and goes on with
    what was begun. Tables are of all runs of the plan that are done, whenever that was.
    """
    cells, worlds = plan.runs(), WorldsCache()
    done = {number: cell.row(found) for number, cell, found in _done(cells, folder)}
    with bar("comparing methods", total=len(cells), done=len(done)) as progress:
        for number, cell in enumerate(cells):
            if number not in done:
                done[number] = cell.row(finish(cell, folder, worlds))
                progress.advance()
                _write(_rows(done), plan, folder)
    _write(_rows(done), plan, folder)
    return _rows(done)


def _done(cells: Sequence[Cell], folder: Path) -> Iterator[tuple[int, Cell, dict[str, Any]]]:
    """The runs that are there already; another comparison's are refused before any work."""
    for number, cell in enumerate(cells):
        place = cell.folder(folder)
        if place.begun():
            place.claim(cell.config)
        found = place.finished()
        if found is not None:
            yield number, cell, found.to_dict()


def _rows(done: Mapping[int, dict[str, Any]]) -> pd.DataFrame:
    """In the order of the plan."""
    return pd.DataFrame([done[number] for number in sorted(done)])


def finish(cell: Cell, folder: Path, worlds: WorldsCache) -> dict[str, Any]:
    """The results of one run, made now unless they are there."""
    place = cell.folder(folder)
    results = place.finished()
    if results is None:
        with quiet():
            results = run(cell.config, place, worlds)
        assert results.provenance is not None
        log(f"{place.path.name}: {results.provenance.seconds:.0f} s")
    return results.to_dict()


def _write(rows: pd.DataFrame, plan: Plan, folder: Path) -> None:
    found = summary(rows)
    frames = {"runs": rows, "summary": found}
    both = beside_published(found)
    if plan.split == SPLIT and not both.empty:
        frames["published"] = both
        write_text(folder / "published.md", published_markdown(both))
    else:
        # Those of an earlier, larger plan say nothing about this one.
        for name in ("published.md", "published.csv"):
            (folder / name).unlink(missing_ok=True)
    for name, frame in frames.items():
        with replacing(folder / f"{name}.csv") as temporary:
            frame.to_csv(temporary, index=False)
    write_text(folder / "table.md", to_markdown(found, verdicts(found, plan.entries)))
    write_text(folder / "table.tex", to_latex(found))

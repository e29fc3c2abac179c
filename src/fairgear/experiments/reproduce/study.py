"""Study: every run that some tables and figures need, made once, whoever asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairgear.datasets import DATASETS
from fairgear.errors import ParameterError, UnfinishedError
from fairgear.experiments.cell import Cell
from fairgear.experiments.published import SPLIT
from fairgear.experiments.reproduce.pace import Pace
from fairgear.experiments.reproduce.recipe import NAMES, Line, Recipe, recipe
from fairgear.experiments.reproduce.records import Key, Records, key_of
from fairgear.experiments.reproduce.workers import Outcome, outcomes
from fairgear.files import alone_in
from fairgear.methods import METHODS
from fairgear.progress import board, log

ALL = "all"
EVERYTHING = "all runs"
# Asked about alone in each run: no table of the paper has that, and it would take most of the time.
SELF_PEOPLE = 0


@dataclass(frozen=True)
class Study:
    """What to reproduce.

    Attributes:
        recipes: the tables and figures.
        seeds: of the runs, each with a split of its own; empty for those of each recipe.
        datasets: those to keep to; empty for all that a recipe names.
        device: of the runs.
        quick: whether runs have a few steps only.
    """

    recipes: tuple[Recipe, ...]
    seeds: tuple[int, ...]
    datasets: tuple[str, ...] = ()
    device: str = "auto"
    quick: bool = False

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        seeds: Sequence[int] = (),
        *,
        datasets: Sequence[str] = (),
        quick: bool = False,
        device: str = "auto",
    ) -> Study:
        """A checked plan; "all" stands for every table and figure."""
        for dataset in datasets:
            _ = DATASETS[dataset]
        wanted = dict.fromkeys(one for name in names for one in (NAMES if name == ALL else (name,)))
        recipes = tuple(recipe(name, quick=quick) for name in wanted)
        made = cls(recipes, tuple(seeds), tuple(datasets), device, quick)
        if not any(made.datasets_of(one) for one in recipes):
            raise ParameterError(
                f"datasets of {', '.join(wanted)}",
                ", ".join(datasets),
                ", ".join(dict.fromkeys(name for one in recipes for name in one.datasets)),
                "choose one of these, or leave --datasets out",
            )
        for one in recipes:
            left_out = [name for name in datasets if name not in one.datasets]
            if left_out:
                log(f"{one.name} has no {' and no '.join(left_out)}")
        return made

    def datasets_of(self, one: Recipe) -> tuple[str, ...]:
        """Those of a recipe that are wanted."""
        return tuple(name for name in one.datasets if not self.datasets or name in self.datasets)

    def seeds_of(self, one: Recipe) -> tuple[int, ...]:
        """Those of a recipe: the ones that are wanted, or as many as it asks for."""
        return self.seeds or tuple(range(one.seeds))

    def cell(self, line: Line, dataset: str, seed: int) -> Cell:
        """One run of a line."""
        config = line.entry.run(dataset, seed, SPLIT)
        config = replace(config, device=self.device, self_people=SELF_PEOPLE)
        return Cell(line.entry, config)

    def cells(self, of: Recipe | None = None) -> list[Cell]:
        """One seed of everything before the next, so that an interrupted study has whole tables."""
        found: dict[Key, Cell] = {}
        recipes = self.recipes if of is None else (of,)
        for seed in dict.fromkeys(seed for one in recipes for seed in self.seeds_of(one)):
            for one in recipes:
                if seed not in self.seeds_of(one):
                    continue
                for dataset in self.datasets_of(one):
                    for line in one.lines:
                        cell = self.cell(line, dataset, seed)
                        found.setdefault(key_of(cell), cell)
        return list(found.values())

    def carry_out(self, folder: Path, records: Records, *, jobs: int, keep: bool = False) -> None:
        """Make the runs that are not recorded yet, `jobs` at a time; 0 makes none.

        Those that fail are told, and the others go on; the same call again tries them once more.
        """
        cells = self.cells()
        missing = [cell for cell in cells if cell not in records]
        if not missing or jobs < 1:
            return
        # Before any work: a card that is not there would fail every run.
        METHODS["gear"](device=self.device).torch_device()
        with alone_in(folder):
            self._make(missing, cells, folder, records, jobs, keep)

    def _make(
        self,
        missing: list[Cell],
        cells: list[Cell],
        folder: Path,
        records: Records,
        jobs: int,
        keep: bool,
    ) -> None:
        plan, pace = _Board(self, records), Pace(records, cells)
        failed: list[Outcome] = []
        with board(plan.parts()) as shown:
            for outcome in outcomes(missing, folder, jobs=jobs, keep=keep):
                if outcome.results is None:
                    failed.append(outcome)
                    log(f"{outcome.cell.name}: {outcome.problem}")
                    continue
                records.add(outcome.cell, outcome.results)
                left = [cell for cell in missing if cell not in records]
                pace.add(outcome.cell, outcome.cell.row(outcome.results)["seconds"])
                time_left = pace.left(left, jobs)
                done = len(missing) - len(left)
                log(f"{outcome.cell.name}: {done} of {len(missing)}, {time_left}")
                for name, (finished, _) in plan.parts().items():
                    shown.show(name, finished, time_left if name == EVERYTHING else "")
        if failed:
            raise UnfinishedError(
                "runs",
                f"{len(failed)} that did not come to their end",
                "all of them",
                "see the lines above; the same command tries those again",
            )


class _Board:
    """How much of each table is done."""

    def __init__(self, study: Study, records: Records) -> None:
        self.records = records
        self.cells = {one.name: study.cells(one) for one in study.recipes if one.lines}
        self.cells[EVERYTHING] = study.cells()

    def parts(self) -> dict[str, tuple[int, int]]:
        """Name to runs done and runs in all."""
        return {
            name: (sum(cell in self.records for cell in cells), len(cells))
            for name, cells in self.cells.items()
        }

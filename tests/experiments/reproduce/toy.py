"""A small study for tests: two linear models on the synthetic graph; and made-up results."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.experiments.cell import Cell
from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.reproduce import study, workers
from fairgear.experiments.reproduce.recipe import Line, Recipe
from fairgear.experiments.reproduce.study import Study
from fairgear.metrics import METRICS

NAME = "toy"
TOY = Recipe(
    NAME,
    "Two linear models",
    "table",
    ("synthetic",),
    (Line("plain", Entry.of("logistic")), Line("unaware", Entry.of("logistic-unaware"))),
)
SEEDS = (0, 1)
# Few: what is tested is who makes the runs, not what they measure.
PEOPLE = 5


def toy_study(seeds: tuple[int, ...] = SEEDS) -> Study:
    return Study((TOY,), seeds, device="cpu")


def command(folder: Path, *, jobs: int) -> list[str]:
    """What somebody types to carry it out, once `known` has been called."""
    typed = ["reproduce", NAME, "--seeds", str(len(SEEDS)), "--device", "cpu"]
    return [*typed, "--jobs", str(jobs), "--out", str(folder)]


def known(name: str, *, quick: bool) -> Recipe:
    """In the place of `recipe`: the one recipe that there is."""
    assert (name, quick) == (NAME, False)
    return TOY


def results(metrics: Mapping[str, float | None], *, seconds: float = 1.5) -> dict[str, Any]:
    """What a run gives, with some metrics; the others are a quarter."""
    stages = [{"stage": "training", "seconds": seconds - 0.5}, {"stage": "it all", "seconds": 0.5}]
    about = {"version": "0.1", "commit": "", "stages": stages}
    return {"metrics": dict.fromkeys(METRICS, 0.25) | dict(metrics), "provenance": about}


def rows(values: Mapping[str, list[float]], *metrics: str, dataset: str = "toy") -> pd.DataFrame:
    """Runs of some lines, a seed each: those metrics have the value, the others are a quarter."""
    return pd.DataFrame(
        [
            {"dataset": dataset, "line": line, "seed": seed}
            | dict.fromkeys(METRICS, 0.25)
            | dict.fromkeys(metrics, value)
            for line, found in values.items()
            for seed, value in enumerate(found)
        ]
    )


def killed_in_the_second_run(folder: str) -> None:
    """For a process of its own: carry the study out, and be killed as a second run begins."""
    vars(study)["recipe"] = known
    study.SELF_PEOPLE = PEOPLE
    give, given = workers.Worker.give, []

    def gives(self: workers.Worker, cell: Cell) -> None:
        give(self, cell)
        given.append(cell)
        if len(given) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    workers.Worker.give = gives  # type: ignore[method-assign]  # that is the trick
    from fairgear.cli import main

    sys.exit(main(command(Path(folder), jobs=1)))

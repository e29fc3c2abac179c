"""A small study for tests: two linear models on the synthetic graph; and made-up results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fairgear.metrics import METRICS
from fairgear.studies.recipe import Line, Recipe
from fairgear.studies.records import KEY
from fairgear.studies.reproduce import Reproduction
from fairgear.studies.spec import Cell, Entry, Study

NAME = "toy"
TOY = Recipe(
    NAME,
    "Two linear models",
    ("synthetic",),
    (Line("plain", Entry.parse("logistic")), Line("unaware", Entry.parse("logistic-unaware"))),
)
SEEDS = (0, 1)


def toy_plan(seeds: tuple[int, ...] = SEEDS) -> Reproduction:
    return Reproduction((TOY,), seeds, device="cpu")


def toy_study(seeds: tuple[int, ...] = SEEDS) -> Study:
    return toy_plan(seeds).study


def known(name: str, *, quick: bool) -> Recipe:
    """In place of `read_recipe`: the one recipe that there is."""
    assert (name, quick) == (NAME, False)
    return TOY


def row(
    cell: Cell, *, seconds: float = 1.5, device: str = "cpu", commit: str = "", **metrics: Any
) -> dict[str, Any]:
    """What a run might give; metrics that are not named are a quarter."""
    key = dict(zip(KEY, cell.key, strict=True))
    about = {"seconds": seconds, "version": "0.1", "commit": commit, "device": device}
    return {**key, **dict.fromkeys(METRICS, 0.25), **metrics, **about}


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

"""A search for the default preset: validation AUROC against validation flips, three datasets.

    .venv/bin/pip install -e '.[tune]'
    .venv/bin/python benchmarks/preset_search.py --trials 40 --jobs 2 --rows search.csv
    .venv/bin/python benchmarks/preset_search.py --trials 0     # the best of the rows that are kept

Optuna's multi-objective study: each trial is one choice of settings on every scene, a dataset with
a seed of the split `released`. AUROC is that of the validation people at the step that was kept;
flips are counted between their factual egos and those that the *learned* generator makes, with
noisy edges. Neither test people nor the causal model that evaluation uses play any part. Rows are
added to a CSV file as trials end, and a second call goes on from them. Those that are kept,
docs/results/preset_search.csv, are of the commit that they name, whose preset `PRESET` is: what a
setting that is left open means has changed since, so that a new search begins a new file.
"""

from __future__ import annotations

import argparse
import hashlib
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
import pandas as pd
from optuna.distributions import CategoricalDistribution
from plan import RESULTS

from fairgear.experiments.provenance import source_commit
from fairgear.files import replacing

if TYPE_CHECKING:
    from fairgear import Gear, SensitiveGraph

ROWS = RESULTS / "preset_search.csv"
# Splits that no table has. The people are the same: some who judge here are tested there.
SCENES = [(dataset, seed) for dataset in ("bail", "credit", "synthetic") for seed in (100, 101)]
# None leaves a setting open, as the preset does: it is settled by the number of labels.
CHOICES: dict[str, list[Any]] = {
    "ranks": ["unseen", "beside", "alone"],
    "learning_rate": [None, 0.003],
    "steps": [None, 2000],
    "batch_size": [None, 300],
    "dropout": [None, 0.3],
    "weight_decay": [None, 1e-4],
    "consistency": ["logit", "boundary"],
    "logit_weight": [None, 0.1, 0.3, 1.0, 3.0],
    "fairness_weight": [0.2, 0.6, 2.0],
    "neighbor_draws": [2, 4],
    "edge_noise": [0.5, 1.0],
    "dim": [64, 128],
    "k": [10, 20],
}
SPACE = {name: CategoricalDistribution(values) for name, values in CHOICES.items()}
# The default preset when the search began.
PRESET: dict[str, Any] = {
    "ranks": "unseen",
    "learning_rate": None,
    "steps": None,
    "batch_size": None,
    "dropout": None,
    "weight_decay": None,
    "consistency": "logit",
    "logit_weight": None,
    "fairness_weight": 0.6,
    "neighbor_draws": 2,
    "edge_noise": 1.0,
    "dim": 64,
    "k": 20,
}
# Where the search begins: that preset, and what hand-made trials liked.
FIRST: list[dict[str, Any]] = [
    PRESET,
    PRESET | {"ranks": "beside"},
    PRESET | {"ranks": "alone"},
    PRESET | {"consistency": "boundary", "logit_weight": 1.0},
    PRESET | {"ranks": "beside", "consistency": "boundary", "logit_weight": 1.0},
    PRESET | {"ranks": "beside", "k": 10},
    PRESET | {"ranks": "beside", "dropout": 0.3},
    PRESET | {"ranks": "beside", "learning_rate": 0.003, "steps": 2000, "batch_size": 300},
]


def measure(dataset: str, seed: int, settings: dict[str, Any], device: str) -> dict[str, float]:
    """What validation says of one model, under names that tell the scene."""
    found = judged(dataset, seed, settings, device)
    return {f"{dataset} {seed} {name}": value for name, value in found.items()}


def judged(
    dataset: str, seed: int, settings: dict[str, Any], device: str = "auto"
) -> dict[str, float]:
    """AUROC and flips of the validation people at the step that was kept."""
    kept = kept_step(fitted(dataset, seed, settings, device)[1])
    return {name: kept[name] for name in ("auroc", "flips")}


def fitted(
    dataset: str, seed: int, settings: dict[str, Any], device: str = "auto"
) -> tuple[SensitiveGraph, Gear]:
    """A graph with the split of that seed, and a model of it."""
    import torch

    import fairgear as fg
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    graph = fg.datasets.load_split(dataset, split="released", seed=seed)
    with quiet():
        # Close egos: a fraction of the time, and hardly another model.
        return graph, fg.Gear(seed=seed, device=device, egos="close", **settings).fit(graph)


def kept_step(model: Gear) -> dict[str, float]:
    """What validation said of the state that was kept."""
    history = model.history_["network"]
    (kept,) = [row for row in history.validation if row["step"] == history.best_step]
    return kept


def totals(row: dict[str, Any]) -> tuple[float, float]:
    """Means over scenes of AUROC and of flips."""
    return tuple(  # type: ignore[return-value]  # two names, two means
        sum(float(row[f"{dataset} {seed} {name}"]) for dataset, seed in SCENES) / len(SCENES)
        for name in ("auroc", "flips")
    )


def study_of(rows: list[dict[str, Any]]) -> optuna.Study:
    """The study as far as the rows go."""
    sampler = optuna.samplers.TPESampler(seed=len(rows), multivariate=True, constant_liar=True)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    for row in rows:
        params = {name: row[name] for name in SPACE}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=SPACE, values=totals(row))
        )
    for first in FIRST[len(rows) :]:
        study.enqueue_trial(first)
    return study


def read(path: Path) -> list[dict[str, Any]]:
    """The rows so far, each choice as it was made: a file knows no None, and no whole numbers."""
    found = pd.read_csv(path).to_dict("records") if path.exists() else []
    for row in found:
        for name, values in CHOICES.items():
            left_open = row[name] != row[name]
            row[name] = None if left_open else next(one for one in values if one == row[name])
    return found


def ways() -> str:
    """Tells apart what settings that are left open mean, by what they are settled to."""
    from fairgear.methods.gear_config import FEW_LABELS, GearConfig

    config = GearConfig()
    settled = [config.regimes(labels) for labels in (FEW_LABELS, FEW_LABELS + 1)]
    return hashlib.sha256(repr(settled).encode()).hexdigest()[:12]


def search(path: Path, trials: int, jobs: int, device: str) -> None:
    """Add trials to the rows, as many at a time as it takes to keep the processes busy."""
    rows = read(path)
    if trials and any(row.get("ways") != ways() for row in rows):
        raise SystemExit(f"{path} has rows of another preset: name a new file with --rows")
    study = study_of(rows)
    left, running = trials, dict[optuna.Trial, list[Future[dict[str, float]]]]()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        while left or running:
            while left and sum(not one.done() for one in chain(*running.values())) < jobs:
                trial = study.ask(SPACE)
                running[trial] = [
                    pool.submit(measure, *scene, trial.params, device) for scene in SCENES
                ]
                left -= 1
            pending = [one for one in chain(*running.values()) if not one.done()]
            wait(pending, return_when=FIRST_COMPLETED)
            for trial in [t for t, parts in running.items() if all(one.done() for one in parts)]:
                row: dict[str, Any] = {**trial.params, "ways": ways(), "commit": source_commit()}
                for part in running.pop(trial):
                    row |= part.result()
                study.tell(trial, totals(row))
                rows.append(row)
                with replacing(path) as temporary:
                    pd.DataFrame(rows).to_csv(temporary, index=False)
                print(len(rows), totals(row), trial.params, flush=True)


def best(path: Path) -> str:
    """The rows that no other beats in both, as a table."""
    rows = read(path)
    front = [trial.number for trial in study_of(rows).best_trials]
    lines = [f"| AUROC | flips | {' | '.join(SPACE)} |", "|---" * (len(SPACE) + 2) + "|"]
    for number in sorted(front, key=lambda place: -totals(rows[place])[0]):
        auroc, flips = totals(rows[number])
        shown = " | ".join(str(rows[number][name]) for name in SPACE)
        lines.append(f"| {auroc:.4f} | {flips:.4f} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=Path, default=ROWS)
    asked = parser.parse_args()
    search(asked.rows, asked.trials, asked.jobs, asked.device)
    print(best(asked.rows))

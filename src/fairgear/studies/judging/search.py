"""The search: the same number of trials for each method on each dataset, among open people alone.

A trial's settings follow from the seed of the plan, dataset, method, its number and the earlier
trials, which are read from the rows. So an interrupted search gives the same trials as a whole one.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from fairgear.auditing import Worlds
from fairgear.auditing.provenance import source_commit
from fairgear.datasets.source import GraphSource
from fairgear.errors import FileError, ParameterError
from fairgear.files import alone_in
from fairgear.graph import split
from fairgear.progress import log, quiet
from fairgear.studies.engine import check_jobs, finished
from fairgear.studies.judging.measures import Answers
from fairgear.studies.judging.plan import Contestant, Plan
from fairgear.studies.judging.sampler import STARTUP, check_optuna, suggest
from fairgear.studies.judging.sealed import open_graph
from fairgear.studies.pool import LOKY
from fairgear.studies.records import Columns, Rows
from fairgear.studies.task import compute_with_one_thread

COLUMNS = Columns(
    ("dataset", "method", "trial"),
    ("trial",),
    ("auroc", "worst", "score", "seconds"),
    ("recipe", "settings", "auroc", "worst", "score", "commit"),
    {"settings": dict[str, Any]},
)
# Trials before the sampler learns from earlier ones.
_STARTUP = STARTUP
# The worlds of the dataset that this process works on.
_held: dict[tuple[Any, ...], tuple[Worlds, ...]] = {}


@dataclass(frozen=True)
class Search:
    """The search of one method's settings on one dataset."""

    plan: Plan
    dataset: str
    method: str

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.dataset}, {self.method}"

    @property
    def graph(self) -> str:
        """Searches on one dataset share its worlds."""
        return self.dataset

    @property
    def contestant(self) -> Contestant:
        """The method."""
        return self.plan.methods[self.method]

    @property
    def recipe(self) -> str:
        """A hash of what decides the trials."""
        return self.plan.fingerprint(self.dataset, self.method)

    def trials(self, rows: Rows) -> list[dict[str, Any]]:
        """The rows at hand, from the first trial on without a gap; another recipe's are refused."""
        found: list[dict[str, Any]] = []
        while len(found) < self.plan.trials:
            key = (self.dataset, self.method, len(found))
            if key not in rows:
                break
            if rows[key]["recipe"] != self.recipe:
                raise ParameterError(
                    f"rows {rows.path}",
                    f"trials of {self.name} by another recipe",
                    f"trials by the recipe {self.recipe}",
                    "name another file, or remove those rows",
                )
            found.append(rows[key])
        return found

    def missing(self, rows: Rows) -> int:
        """How many trials there are still to do."""
        return self.plan.trials - len(self.trials(rows))


def best(trials: Sequence[Mapping[str, Any]], by: str = "score") -> dict[str, Any]:
    """The settings of the trial with the highest score; the first of equal ones."""
    chosen = max(trials, key=lambda row: (row[by], -row["trial"]))
    settings: dict[str, Any] = json.loads(chosen["settings"])
    return settings


def run_search(
    search: Search, rows: Path, *, device: str = "auto", until: float | None = None
) -> dict[str, Any]:
    """Do the trials that have no row yet, and write each row as it comes.

    Args:
        search: of one method on one dataset.
        rows: the file of rows.
        device: auto, cpu or cuda.
        until: the time (of the system's clock) after which no trial is begun.
    """
    compute_with_one_thread()
    table = Rows(rows, COLUMNS)
    while search.missing(table) and (until is None or time.time() < until):
        trials = search.trials(table)
        settings = suggested(search, trials)
        begin = time.perf_counter()
        with quiet():
            found = score(search, settings, device)
        row = {"dataset": search.dataset, "method": search.method, "trial": len(trials)}
        row |= {"recipe": search.recipe, "settings": json.dumps(settings), **found}
        row["seconds"] = round(time.perf_counter() - begin, 2)
        table.add(row | {"commit": source_commit(), "device": device})
    return {"trials": len(search.trials(table))}


def suggested(search: Search, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of the next trial, from the trials so far."""
    words = [search.plan.seed, search.dataset, search.method, len(trials)]
    known = [(json.loads(row["settings"]), (row["score"],)) for row in trials]
    return suggest(search.contestant.space, words, known, startup=_STARTUP)


def score(search: Search, settings: Mapping[str, Any], device: str) -> dict[str, Any]:
    """AUROC less the largest δCF on the inner judged people, the mean over inner splits."""
    found = []
    for worlds in inner_worlds(search.plan, search.dataset):
        model = search.contestant.build(settings, worlds.seed, device).fit(worlds.graph)
        found.append(Answers.of(model, worlds))
    auroc = fmean(one.auroc for one in found)
    worst = fmean(one.worst()[0] for one in found)
    model_name = max(one.worst() for one in found)[1]
    return {"auroc": auroc, "worst": worst, "score": auroc - worst, "worst_model": model_name}


def inner_worlds(plan: Plan, dataset: str) -> tuple[Worlds, ...]:
    """The worlds of the open graph, for each of its inner splits; kept for one dataset."""
    seeds = plan.inner_seeds[dataset]
    key = (dataset, plan.split, seeds, plan.search_draws)
    if key not in _held:
        # Drop the old ones first: two graphs' worlds are never held at once.
        _held.clear()
        graph = open_graph(GraphSource(dataset=dataset).load(split=False))
        _held[key] = tuple(
            Worlds(split(graph, plan.split, seed=seed), draws=plan.search_draws, seed=seed)
            for seed in seeds
        )
    return _held[key]


def carry_out_search(
    plan: Plan,
    rows: Path,
    *,
    device: str = "auto",
    jobs: int | None = None,
    backend: str = LOKY,
    minutes: float | None = None,
) -> list[Search]:
    """Search every method on every dataset, as far as the time allows; what is left comes back.

    The same call goes on with an interrupted search.

    Args:
        plan: what to search.
        rows: the file of rows; those at hand count as done.
        device: auto, cpu or cuda.
        jobs: searches at a time, each with one thread; None for one a core, 0 for none.
        backend: how joblib runs them.
        minutes: after these no trial is begun.
    """
    check_jobs(jobs, backend)
    if minutes is not None and minutes <= 0:
        raise ParameterError("--minutes", minutes, "more than 0", "leave it out for no limit")
    table = Rows(rows, COLUMNS)
    searches = [Search(plan, dataset, name) for dataset in plan.datasets for name in plan.methods]
    left = [one for one in searches if one.missing(table)]
    if not left or jobs == 0:
        return left
    check_optuna("fairgear judge search")
    until = None if minutes is None else time.time() + 60 * minutes
    run = partial(run_search, rows=rows, device=device, until=until)
    with alone_in(rows.parent):
        for outcome, _ in finished(left, run, {device}, jobs=jobs, backend=backend):
            assert outcome.row is not None
            log(f"{outcome.cell.name}: {outcome.row['trials']} of {plan.trials} trials")
    table = Rows(rows, COLUMNS)
    return [one for one in searches if one.missing(table)]


@dataclass(frozen=True)
class Choice:
    """What a finished search found: settings of two trials, and a hash of all trials."""

    chosen: dict[str, Any]
    accurate: dict[str, Any]
    sha256: str

    @classmethod
    def of(cls, trials: Sequence[Mapping[str, Any]]) -> Choice:
        """From all trials of one method on one dataset."""
        content = [
            [row[name] for name in ("trial", "settings", "auroc", "worst")] for row in trials
        ]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return cls(best(trials), best(trials, "auroc"), digest)


def choices(plan: Plan, path: Path) -> dict[tuple[str, str], Choice]:
    """What was chosen for each dataset and method; refused while any trial is missing."""
    if not os.path.exists(path):
        raise FileError(
            f"search rows {path}", "no such file", "rows of a finished search", "search first"
        )
    table, found = Rows(path, COLUMNS), {}
    for dataset in plan.datasets:
        for method in plan.methods:
            search = Search(plan, dataset, method)
            trials = search.trials(table)
            if len(trials) < plan.trials:
                raise FileError(
                    f"search rows {path}",
                    f"{len(trials)} of {plan.trials} trials of {search.name}",
                    "all trials of every method that is judged",
                    "finish the search, or name fewer --datasets and --methods",
                )
            found[dataset, method] = Choice.of(trials)
    return found

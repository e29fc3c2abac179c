"""The opening: every method with its chosen settings, fitted on open people, judged on sealed ones.

It happens once, at one commit, after the bounds and the trials of what is judged are there. Every
row says which. A rehearsal does the same among open people, whenever one likes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairgear.auditing import Worlds
from fairgear.auditing.provenance import COMMIT, source_commit
from fairgear.datasets.source import GraphSource
from fairgear.errors import FileError, ParameterError
from fairgear.files import alone_in, read_errors
from fairgear.progress import log, quiet
from fairgear.studies.engine import check_jobs, finished
from fairgear.studies.judging.bounds import BOUNDS, read_bounds
from fairgear.studies.judging.measures import FIGURES, Answers
from fairgear.studies.judging.plan import CHOSEN, Plan
from fairgear.studies.judging.sealed import rehearsal_split, sealed_split
from fairgear.studies.judging.search import choices
from fairgear.studies.pool import LOKY
from fairgear.studies.records import Columns, Rows
from fairgear.studies.task import compute_with_one_thread

SOURCES = ("commit", "bounds_sha256", "opened")
COLUMNS = Columns(
    ("dataset", "method", "point", "seed"),
    ("seed",),
    (*FIGURES, "value", "seconds"),
    ("settings", "auroc", "worst", "intervals", "models", "search_sha256", *SOURCES),
    {
        "settings": dict[str, Any],
        "intervals": dict[str, tuple[float, float]],
        "models": dict[str, tuple[float, bool, float, float]],
    },
)
# In rows of sealed people; those of a rehearsal have "false".
OPENED = "true"
# Of the answers to sealed people that comparisons need, beside the rows.
ANSWERS = "answers"
# The worlds of the graph that this process works on.
_held: dict[tuple[Any, ...], Worlds] = {}


@dataclass(frozen=True)
class Sources:
    """Where a row comes from: equal in all rows of a file."""

    commit: str
    bounds_sha256: str
    opened: str = OPENED

    @classmethod
    def of(cls, bounds: Path, *, rehearsal: bool = False) -> Sources:
        """Those of an opening now; refused at a commit that is not known, or with changes.

        A rehearsal opens nobody, and may be at any state of the source.
        """
        commit = source_commit() if rehearsal else clean_commit()
        return cls(commit, file_hash("bounds", bounds), "false" if rehearsal else OPENED)

    def check(self, rows: Rows, wanted: Iterable[Opening] = ()) -> None:
        """Refuse a file with rows of other sources, or of other trials than those wanted now."""
        trials = {(one.dataset, one.method): one.search_sha256 for one in wanted}
        for row in rows.all():
            searched = trials.get((row["dataset"], row["method"]), row["search_sha256"])
            for name, mine in {**asdict(self), "search_sha256": searched}.items():
                if row[name] != mine:
                    raise ParameterError(
                        f"rows {rows.path}",
                        f"rows with the {name} {row[name]}",
                        f"rows with the {name} {mine}",
                        "name a new file with --rows; what was opened before stays where it is",
                    )


@dataclass(frozen=True)
class Opening:
    """One final fit: a method at one point of its curve, with one seed, on one dataset."""

    plan: Plan
    dataset: str
    method: str
    point: str
    seed: int
    settings: Mapping[str, Any]
    keep: bool
    search_sha256: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What distinguishes its row from all others."""
        return self.dataset, self.method, self.point, self.seed

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.dataset}, {self.method}, {self.point}, seed {self.seed}"

    @property
    def graph(self) -> tuple[str, int]:
        """Fits on the same graph and split share their worlds."""
        return self.dataset, self.seed


def openings(plan: Plan, search: Path, bounds: Path) -> list[Opening]:
    """All final fits: what was chosen and what bounds name with every seed, then the curves."""
    compared = {point for one in read_bounds(bounds) for point in one.compared()}
    found = [
        Opening(
            plan,
            *(dataset, name, point, seed, settings),
            keep=(dataset, name, point) in compared,
            search_sha256=choice.sha256,
        )
        for seed in plan.final_seeds
        for (dataset, name), choice in choices(plan, search).items()
        for point, settings in plan.methods[name].points(choice.chosen, choice.accurate).items()
    ]
    curves = [one for one in found if not one.keep and one.point != CHOSEN]
    first = [one for one in found if one.keep or one.point == CHOSEN]
    return first + [one for one in curves if one.seed in plan.curve_seeds]


def open_sealed(
    plan: Plan,
    search: Path,
    rows: Path,
    *,
    bounds: Path = BOUNDS,
    rehearsal: bool = False,
    device: str = "auto",
    jobs: int | None = None,
    backend: str = LOKY,
) -> Rows:
    """Fit and judge what has no row yet; the same call goes on with an interrupted one.

    Args:
        plan: what is judged.
        search: the rows of the finished search.
        rows: the file of rows; rows of another commit, bounds or search are refused.
        bounds: what is to be reached.
        rehearsal: whether open people stand in for the sealed ones, who stay sealed.
        device: auto, cpu or cuda.
        jobs: fits at a time, each with one thread; None for one a core.
        backend: how joblib runs them.
    """
    check_jobs(jobs, backend)
    sources, table = Sources.of(bounds, rehearsal=rehearsal), Rows(rows, COLUMNS)
    wanted = openings(plan, search, bounds)
    sources.check(table, wanted)
    missing = [one for one in wanted if one.key not in table]
    if not missing or jobs == 0:
        return table
    run = partial(run_opening, rows=rows, sources=sources, device=device)
    with alone_in(rows.parent):
        ended = finished(missing, run, {device}, jobs=jobs, backend=backend)
        for done, (outcome, _) in enumerate(ended, start=1):
            log(f"{outcome.cell.name}: {done} of {len(missing)}")
    return Rows(rows, COLUMNS)


def run_opening(opening: Opening, rows: Path, sources: Sources, device: str) -> dict[str, Any]:
    """Fit on open people, judge on the sealed ones, and write the row."""
    compute_with_one_thread()
    plan, one = opening.plan, opening.plan.methods[opening.method]
    begin = time.perf_counter()
    with quiet():
        rehearsal = sources.opened != OPENED
        worlds = judged_worlds(plan, opening.dataset, opening.seed, rehearsal=rehearsal)
        model = one.build(opening.settings, opening.seed, device).fit(worlds.graph)
        answers = Answers.of(model, worlds)
    if opening.keep:
        answers.save(answers_path(rows, *opening.key))
    row = {
        **dict(zip(COLUMNS.key, opening.key, strict=True)),
        "value": opening.settings.get(one.dial.setting),
        "settings": json.dumps(opening.settings),
        **answers.row(),
        "seconds": round(time.perf_counter() - begin, 2),
        "search_sha256": opening.search_sha256,
        **asdict(sources),
        "device": device,
    }
    Rows(rows, COLUMNS).add(row)
    return row


def judged_worlds(plan: Plan, dataset: str, seed: int, *, rehearsal: bool) -> Worlds:
    """The worlds of the whole graph with one final split, or of a rehearsal; kept for one graph."""
    key = (dataset, seed, plan.final_draws, rehearsal)
    if key not in _held:
        # Drop the old ones first: two graphs' worlds are never held at once.
        _held.clear()
        split = rehearsal_split if rehearsal else sealed_split
        graph = split(GraphSource(dataset=dataset).load(split=False), seed)
        _held[key] = Worlds(graph, draws=plan.final_draws, seed=seed)
    return _held[key]


def answers_path(rows: Path, dataset: str, method: str, point: str, seed: int) -> Path:
    """Where the answers to sealed people are kept, beside the rows."""
    words = re.sub(r"[^A-Za-z0-9.=_-]+", "-", f"{dataset}-{method}-{point}-{seed}")
    return rows.parent / ANSWERS / f"{rows.stem}-{words}.safetensors"


def clean_commit() -> str:
    """The commit of the source, without changes to it that are not committed."""
    commit = source_commit()
    if commit and not commit.endswith("*"):
        return commit
    raise ParameterError(
        "fairgear judge open",
        "changes that are not committed" if commit else "a source whose commit is not known",
        "a committed state of src and pyproject.toml",
        "commit first" if commit else f"work in a checkout, or set {COMMIT} to the commit",
    )


def file_hash(what: str, path: Path) -> str:
    """SHA-256 of a file."""
    if not os.path.isfile(path):
        raise FileError(
            f"{what} {path}",
            "no such file",
            f"a file of {what}",
            "check the path, or make it first",
        )
    with read_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

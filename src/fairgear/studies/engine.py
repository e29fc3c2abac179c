"""The engine of all studies: run what is missing, record it, show progress and time left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from fairgear.errors import ParameterError, UnfinishedError
from fairgear.files import alone_in
from fairgear.methods import METHODS
from fairgear.progress import board, log
from fairgear.studies.pool import LOKY, C, Outcome, Pool, Run, check_backend, open_pool, outcomes
from fairgear.studies.records import Records
from fairgear.studies.spec import Cell, Study
from fairgear.studies.task import check_folder, run_cell

ALL_RUNS = "all runs"
# More processes than any cluster of ours would have.
_MOST_JOBS = 10_000


def carry_out(
    study: Study,
    folder: Path,
    records: Records,
    *,
    jobs: int | None = None,
    keep: bool = False,
    backend: str = LOKY,
) -> None:
    """Run the cells that have no row yet; the same call goes on with an interrupted study.

    Runs that fail are reported as they fail, and the others go on. At the end an
    `UnfinishedError` says how many failed; the same call tries them again.

    Args:
        study: what to run.
        folder: where the runs go.
        records: the rows at hand; new ones are added.
        jobs: runs at a time, each with one thread; None for one a core, 0 to run nothing.
        keep: whether models, predictions and pages are kept beside the results.
        backend: how joblib runs them: loky, dask or ray.
    """
    check_jobs(jobs, backend)
    for cell in study.cells:
        check_folder(cell, folder)
    missing = [cell for cell in study.cells if cell not in records]
    if not missing or jobs == 0:
        return
    devices = {cell.config.device for cell in missing}
    run = partial(run_cell, study=folder, keep=keep)
    with alone_in(folder), board(_done(study, records)) as shown:
        for outcome, pool in finished(missing, run, devices, jobs=jobs, backend=backend):
            assert outcome.row is not None
            records.add(outcome.cell, outcome.row)
            left = [cell for cell in missing if cell not in records]
            remaining = time_left(records.of(study.cells), left, pool.workers)
            log(f"{outcome.cell.name}: {len(missing) - len(left)} of {len(missing)}, {remaining}")
            for name, (done, _) in _done(study, records).items():
                shown.show(name, done, remaining if name == ALL_RUNS else "")


def check_jobs(jobs: int | None, backend: str) -> None:
    """Refuse a number of jobs or a backend that there is not."""
    if jobs is not None and not 0 <= jobs <= _MOST_JOBS:
        allowed = f"0 or more, at most {_MOST_JOBS:,}"
        raise ParameterError("--jobs", jobs, allowed, "leave it out for one a core")
    check_backend(backend)


def finished(
    cells: Sequence[C],
    run: Run[C],
    devices: set[str],
    *,
    jobs: int | None = None,
    backend: str = LOKY,
) -> Iterator[tuple[Outcome[C], Pool]]:
    """Run the cells in parallel, and yield those that end well as they do.

    The others are reported as they fail; at the end an `UnfinishedError` says how many.

    Args:
        cells: what to run.
        run: gives the row of a cell.
        devices: those that the runs need.
        jobs: runs at a time, each with one thread; None for one a core.
        backend: how joblib runs them.
    """
    if backend == LOKY:
        # A GPU that is not there would fail every run.
        for device in devices:
            METHODS["gear"](device=device).torch_device()
    failed = 0
    # A process that has nothing to do is not started.
    with open_pool(backend, jobs and min(jobs, len(cells))) as pool:
        for outcome in outcomes(cells, run, pool):
            if outcome.row is None:
                failed += 1
                log(f"{outcome.cell.name}: {outcome.problem}")
            else:
                yield outcome, pool
    if failed:
        raise UnfinishedError(
            "runs",
            f"{failed} that failed",
            "all of them finished",
            "see the lines above; the same command tries those again",
        )


def _done(study: Study, records: Records) -> dict[str, tuple[int, int]]:
    """By table and for all: how many runs are done, and how many there are."""
    parts = study.parts if len(study.parts) > 1 else {}
    return {
        name: (sum(cell in records for cell in cells), len(cells))
        for name, cells in {**parts, ALL_RUNS: study.cells}.items()
    }


def time_left(rows: pd.DataFrame, left: Sequence[Cell], jobs: int) -> str:
    """In words; a run takes the mean of those of its dataset and method, of its dataset, or of all.

    Args:
        rows: of the finished runs.
        left: the runs to come.
        jobs: runs at a time.
    """
    if not left:
        return "done"
    if rows.empty:
        return "time left unknown"
    alike = rows.groupby(["dataset", "method"])["seconds"].mean()
    same_dataset = rows.groupby("dataset")["seconds"].mean()
    total = 0.0
    for cell in left:
        dataset, method = cell.key[:2]
        fallback = same_dataset.get(dataset, rows["seconds"].mean())
        total += alike.get((dataset, method), fallback)
    return f"about {in_words(total / min(jobs, len(left)))} left"


def in_words(seconds: float) -> str:
    """`40 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"

"""The pool: processes that are killed, several backends, and tasks that share a graph."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fairgear.errors import ParameterError
from fairgear.studies import pool
from fairgear.studies.pool import Outcome, Pool, Task, check_backend, open_pool, outcomes
from tests.studies.fragile import CELLS, KILLS, RAISES, Fake, deaf, fragile

ROOT = Path(__file__).parents[2]


def by_name(found: Iterator[Outcome[Any]]) -> dict[str, Outcome[Any]]:
    told = list(found)
    assert len({outcome.cell.name for outcome in told}) == len(told)
    return {outcome.cell.name: outcome for outcome in told}


@pytest.fixture
def _one_failure() -> Iterator[None]:
    """Dask would itself repeat a run that kills its worker, three times over."""
    import dask.config

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        yield


@pytest.mark.usefixtures("_one_failure")
# Connections that killed workers leave behind are Dask's own.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_a_killed_process_costs_its_own_run_alone(backend: str, tmp_path: Path) -> None:
    with open_pool(backend, 2) as workers:
        assert workers.workers == 2
        found = by_name(outcomes(CELLS, partial(fragile, folder=tmp_path), workers))
    assert set(found) == {cell.name for cell in CELLS}
    problems = {name: one.problem for name, one in found.items() if one.row is None}
    assert set(problems) == {KILLS, RAISES}
    assert problems[KILLS].startswith("its process ended twice (")
    assert problems[RAISES].endswith("ValueError: no luck")


def test_one_job_runs_in_a_process_of_its_own_too(tmp_path: Path) -> None:
    fine = [cell for cell in CELLS if cell.graph == 1]
    with open_pool(jobs=1) as workers:
        found = by_name(outcomes([*fine, CELLS[0]], partial(fragile, folder=tmp_path), workers))
    assert [name for name, one in found.items() if one.row is None] == [KILLS]
    attempts = Counter(path.stem for path in tmp_path.iterdir())
    # The process may end before the result of a cell before it has come back: that cell is then
    # run again, and so is the one that kills, but nothing is lost.
    once = all(attempts[cell.name] == 1 for cell in fine)
    assert attempts[KILLS] == (2 if once else 3)
    assert max(attempts[cell.name] for cell in fine) <= 2
    assert set(attempts) == {KILLS, *(cell.name for cell in fine)}


def in_this_process(
    monkeypatch: pytest.MonkeyPatch, lost: Callable[[int, int], bool]
) -> list[list[list[str]]]:
    """Run tasks here; `lost(round, number)` says which break the pool. Gives what was handed in."""
    rounds: list[list[list[str]]] = []

    def parallel(
        tasks: Sequence[Task[Any]], pool: Pool
    ) -> Iterator[tuple[int, list[Outcome[Any]]]]:
        rounds.append([[cell.name for cell in task.cells] for task in tasks])
        for number, task in enumerate(tasks):
            if lost(len(rounds) - 1, number):
                raise RuntimeError("a worker was killed")
            yield number, task()

    monkeypatch.setattr(pool, "_parallel", parallel)
    return rounds


def test_only_what_was_in_flight_is_repeated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: Any = [Fake(str(number), number) for number in range(8)]
    # With two workers, the fourth was in flight together with the third.
    rounds = in_this_process(monkeypatch, lambda turn, number: (turn, number) == (0, 2))
    found = by_name(outcomes(cells, lambda cell: {}, Pool(2, nullcontext)))
    assert [one.row for one in found.values()] == [{}] * 8
    assert rounds == [
        [[str(number)] for number in range(8)],
        [["4"], ["5"], ["6"], ["7"]],
        [["2"]],
        [["3"]],
    ]


def test_a_pool_that_never_works_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch, lambda turn, number: True)
    found = by_name(outcomes(CELLS, lambda cell: {}, Pool(2, nullcontext)))
    told = "its process ended twice (RuntimeError: a worker was killed)"
    assert [one.problem for one in found.values()] == [told] * len(CELLS)


@pytest.mark.parametrize(("workers", "tasks"), [(1, 16), (2, 16), (4, 32), (100, 32)])
def test_a_task_is_of_one_graph(workers: int, tasks: int) -> None:
    cells: Any = [Fake("", number // 2) for number in range(32)]
    parts = list(pool._parts(cells, workers))
    assert [cell for part in parts for cell in part] == cells
    assert all(len({cell.graph for cell in part}) == 1 for part in parts)
    # Two to a task, where every worker still gets enough tasks.
    assert len(parts) == tasks


def test_an_unknown_backend_and_a_missing_package_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ParameterError, match="--backend: got 'slurm'; allowed: loky, dask, ray"):
        check_backend("slurm")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"run pip install 'fairgear\[ray\]'"):
        check_backend("ray")


def test_ctrl_c_is_for_the_process_that_started_the_workers() -> None:
    with open_pool(jobs=2) as workers:
        rows = [outcome.row for outcome in outcomes(CELLS, deaf, workers)]
    assert rows == [{"deaf": True}] * len(CELLS)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = """if True:
        import functools, pathlib, sys
        from fairgear.studies.pool import open_pool, outcomes
        from tests.studies.fragile import CELLS, sleeps
        run = functools.partial(sleeps, folder=pathlib.Path(sys.argv[1]))
        with open_pool(jobs=2) as workers:
            list(outcomes(CELLS, run, workers))
    """
    started = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT)
    _wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    started.kill()
    assert started.wait() == -signal.SIGKILL
    pids = [int(path.name) for path in tmp_path.iterdir()]
    _wait_until(lambda: not any(map(_alive, pids)))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_an_address_that_is_no_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "junk://x")
    with pytest.raises(ParameterError, match="DASK_SCHEDULER_ADDRESS"), open_pool("dask"):
        raise AssertionError("never reached")

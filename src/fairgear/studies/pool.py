"""Tasks in parallel by joblib: loky processes on one machine, Dask or Ray on a cluster."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from fairgear.errors import FairgearError, ParameterError
from fairgear.files import remove_own

LOKY, DASK, RAY = BACKENDS = ("loky", "dask", "ray")
# Tasks for each worker, at least, where there are enough cells: so that all end at about the same
# time.
TASKS_A_WORKER = 8
# Seconds between two looks at whether the parent process still runs.
LOOK_EVERY = 0.2
# A cluster's worker may have several threads; runs share global state and take turns.
_turn = threading.Lock()


class Work(Protocol):
    """One cell of a study: its name, and what it shares with others on the same graph."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def graph(self) -> object:
        """Equal for cells that share their counterfactual worlds."""


C = TypeVar("C", bound=Work)
Run = Callable[[C], dict[str, Any]]


@dataclass(frozen=True)
class Outcome(Generic[C]):
    """What became of a cell: its row, or the problem that prevented it."""

    cell: C
    row: dict[str, Any] | None
    problem: str = ""


@dataclass(frozen=True)
class Task(Generic[C]):
    """Cells that share a graph, and so its counterfactual worlds.

    Attributes:
        cells: what to run.
        run: gives the row of a cell.
        parent: the process whose end also ends the worker; None on a cluster.
    """

    cells: Sequence[C]
    run: Run[C]
    parent: int | None = None

    def __call__(self) -> list[Outcome[C]]:
        """Run the cells; an error in one of them does not stop the others."""
        if self.parent is not None:
            _end_with(self.parent)
        with _turn:
            return [self._outcome(cell) for cell in self.cells]

    def _outcome(self, cell: C) -> Outcome[C]:
        try:
            return Outcome(cell, self.run(cell))
        except FairgearError as error:
            return Outcome(cell, None, str(error))
        except Exception:
            return Outcome(cell, None, traceback.format_exc().strip())


@dataclass(frozen=True)
class Pool:
    """Workers that joblib gives tasks to.

    Attributes:
        workers: how many tasks at a time.
        config: gives a block in which joblib uses these workers.
        parent: the process that the workers end with; None on a cluster.
    """

    workers: int
    config: Callable[[], AbstractContextManager[Any]]
    parent: int | None = None


@contextmanager
def open_pool(backend: str = LOKY, jobs: int | None = None) -> Iterator[Pool]:
    """Workers on this machine, or on a cluster.

    Args:
        backend: one of `BACKENDS`.
        jobs: tasks at a time; None for one a core, or for all workers of the cluster.
    """
    check_backend(backend)
    if backend == LOKY:
        config = partial(parallel_config, LOKY, inner_max_num_threads=1)
        yield Pool(jobs or effective_n_jobs(-1), config, os.getpid())
    elif backend == DASK:
        with _dask_client(jobs) as client:
            backend_class = _dask_backend()
            workers = sum(client.ncores().values())
            yield Pool(jobs or workers, lambda: parallel_config(backend_class(client=client)))
    else:
        from ray.util.joblib import register_ray

        register_ray()
        with parallel_config(RAY):
            workers = effective_n_jobs(-1)
        yield Pool(jobs or workers, partial(parallel_config, RAY))


def _dask_client(jobs: int | None) -> Any:
    """The scheduler that DASK_SCHEDULER_ADDRESS names, or else a cluster on this machine."""
    from distributed import Client

    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    if address is None:
        local = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": None}
        return Client(n_workers=jobs or effective_n_jobs(-1), **local)
    try:
        return Client(address)
    # Each kind of address has its own code, and its own errors.
    except Exception as error:
        step = "start dask scheduler there, or unset it for a cluster on this machine"
        got = f"{address!r} ({type(error).__name__}: {error})"
        what = "environment variable DASK_SCHEDULER_ADDRESS"
        raise ParameterError(what, got, "the address of a scheduler that answers", step) from error


def outcomes(cells: Sequence[C], run: Run[C], pool: Pool) -> Iterator[Outcome[C]]:
    """Run the cells in parallel, and yield what became of each as its task ends.

    A worker process that is killed breaks joblib's pool. The pool is then built again for the
    other tasks. Those that were in flight are repeated at the end, one cell at a time, so that a
    cell that kills its process again is the only one lost.

    Args:
        cells: what to run.
        run: gives the row of a cell; joblib must be able to send it to another process.
        pool: from `open_pool`.
    """
    left = [Task(part, run, pool.parent) for part in _parts(cells, pool.workers)]
    suspects: list[C] = []
    while left:
        done: set[int] = set()
        try:
            for number, found in _parallel(left, pool):
                done.add(number)
                yield from found
            break
        except Exception:
            # joblib hands out tasks in order, another one for each that comes back.
            given = pool.workers + len(done)
            lost = [task for number, task in enumerate(left[:given]) if number not in done]
            suspects += [cell for task in lost for cell in task.cells]
            left = left[given:]
    alone = replace(pool, workers=1)
    for cell in suspects:
        try:
            for _, found in _parallel([Task([cell], run, pool.parent)], alone):
                yield from found
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            yield Outcome(cell, None, f"its process ended twice ({reason})")


def check_backend(name: str) -> None:
    """Refuse an unknown backend, or one whose package is not installed."""
    if name not in BACKENDS:
        raise ParameterError("--backend", repr(name), ", ".join(BACKENDS), "leave it out for loky")
    package = {DASK: "distributed", RAY: "ray"}.get(name)
    if package is not None and find_spec(package) is None:
        raise ParameterError(
            f"--backend {name}",
            f"no installed package {package!r}",
            "with that package",
            f"run pip install 'fairgear[{name}]'",
        )


def _parts(cells: Sequence[C], workers: int) -> Iterator[Sequence[C]]:
    """Successive cells on one graph: one worker makes its counterfactual worlds for all of them."""
    most = max(1, len(cells) // (TASKS_A_WORKER * workers))
    for _, group in groupby(cells, key=lambda cell: cell.graph):
        same = list(group)
        yield from (same[first : first + most] for first in range(0, len(same), most))


def _parallel(tasks: Sequence[Task[C]], pool: Pool) -> Iterator[tuple[int, list[Outcome[C]]]]:
    """The number and the outcomes of each task, in the order in which they end."""
    with pool.config(), warnings.catch_warnings():
        # Workers whose memory has grown are replaced.
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        parallel = Parallel(
            # With one job joblib would run in this process, which a crash would end.
            n_jobs=max(2, pool.workers),
            pre_dispatch=pool.workers,
            batch_size=1,
            return_as="generator_unordered",
        )
        given = (delayed(_numbered)(number, task) for number, task in enumerate(tasks))
        with _deaf_children():
            found = parallel(given)
        yield from found


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started inside do not hear Ctrl-C, not even while they import Python.

    They inherit which signals are blocked. Here one that comes meanwhile is heard afterwards.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    # Python's own helper; the first worker would start it, and that would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(number: int, task: Task[C]) -> tuple[int, list[Outcome[C]]]:
    return number, task()


def _dask_backend() -> Any:
    """joblib's Dask backend with two gaps closed.

    It waits for ever for a task that has killed its workers, and while the cluster has a single
    worker it runs tasks in this process.
    """
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
        def effective_n_jobs(self, n_jobs: int) -> int:
            return n_jobs

        def submit(self, func: Any, callback: Any = None) -> Any:
            def tell(ended: Any) -> None:
                if ended.exception() is not None:
                    callback(ended.exception())

            future = super().submit(func, callback)
            future.add_done_callback(tell)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

    return Backend


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent; the parent alone reacts to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        remove_own()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

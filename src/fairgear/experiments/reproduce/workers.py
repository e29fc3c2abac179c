"""Workers: processes that make runs, one each at a time.

Every run computes with one thread, so that its results do not hang on how many run at once.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from fairgear.errors import FairgearError
from fairgear.experiments.cell import Cell
from fairgear.threads import THREADS

_spawn = get_context("spawn")


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its results, or why there are none."""

    cell: Cell
    results: dict[str, Any] | None
    problem: str = ""


class Worker:
    """The near end of one process."""

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self.pipe, far = _spawn.Pipe()
        self.process = _spawn.Process(target=_work, args=(far, folder, keep), daemon=True)
        with _one_thread():
            self.process.start()
        # Ours is closed, so that the pipe ends with the process.
        far.close()
        self.cell: Cell | None = None
        self.graph: tuple[str, int] | None = None

    def give(self, cell: Cell) -> None:
        """Let it make a run."""
        self.cell, self.graph = cell, graph_of(cell)
        # One that has just gone is found out where its outcome is asked for.
        with suppress(ConnectionError):
            self.pipe.send(cell)

    def outcome(self) -> Outcome:
        """Of the run that it was given; a process that has gone leaves none."""
        cell, self.cell = self.cell, None
        assert cell is not None
        try:
            results, problem = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            self.pipe.close()
            return Outcome(cell, None, f"its process ended ({_ending(self.process.exitcode)})")
        return Outcome(cell, results, problem)

    @property
    def alive(self) -> bool:
        """Whether it can be given more."""
        return self.process.is_alive()

    def end(self) -> None:
        """At once, whatever it does: a run that has begun goes on from its checkpoint."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def graph_of(cell: Cell) -> tuple[str, int]:
    """Runs that share counterfactual worlds have the same."""
    return cell.config.dataset, cell.config.seed


def outcomes(cells: Sequence[Cell], folder: Path, *, jobs: int, keep: bool) -> Iterator[Outcome]:
    """Make runs, `jobs` at a time; what becomes of each, as they end.

    A worker stays with one graph as long as there are runs on it: making its counterfactual
    worlds is much of an evaluation, and a worker keeps them.
    """
    left = list(cells)
    workers: list[Worker] = []
    try:
        while left or any(worker.cell for worker in workers):
            workers = [worker for worker in workers if worker.alive or worker.cell]
            idle = sum(worker.cell is None for worker in workers)
            for _ in range(min(jobs - len(workers), len(left) - idle)):
                workers.append(Worker(folder, keep=keep))
            for worker in workers:
                if left and worker.cell is None:
                    worker.give(_next(left, worker, [other.graph for other in workers]))
            busy = {worker.pipe: worker for worker in workers if worker.cell}
            for pipe in connection.wait(list(busy)):
                yield busy[pipe].outcome()  # type: ignore[index]  # wait gives what it was given
    finally:
        for worker in workers:
            worker.end()


def _next(left: list[Cell], worker: Worker, taken: Sequence[tuple[str, int] | None]) -> Cell:
    """The worker's own graph first, then one that nobody has, then where help is needed most."""
    count = Counter(map(graph_of, left))
    # Of equals the one that comes first in the plan.
    needy = max(count, key=lambda graph: count[graph] / max(1, taken.count(graph)))
    for wanted in (
        lambda graph: graph == worker.graph,
        lambda graph: graph not in taken,
        lambda graph: graph == needy,
    ):
        for place, cell in enumerate(left):
            if wanted(graph_of(cell)):
                return left.pop(place)
    raise AssertionError("nothing is left")


@contextmanager
def _one_thread() -> Iterator[None]:
    """A process that is started inside computes with one thread."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: connection.Connection, folder: Path, keep: bool) -> None:
    """The far end: make what is asked for until the pipe closes."""
    # An interrupt from the keyboard reaches all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    from fairgear.experiments.reproduce.one_run import make_run
    from fairgear.runs import WorldsCache

    torch.set_num_threads(1)
    worlds = WorldsCache()
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((make_run(cell, folder, worlds, keep=keep), ""))
        except FairgearError as error:
            pipe.send((None, str(error)))
        except Exception:
            pipe.send((None, traceback.format_exc().strip()))


def _end_with_parent() -> None:
    """Two processes must never make the same run: one whose parent was killed ends too."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        memory = ", probably for its memory" if -code == signal.SIGKILL else ""
        return f"killed by signal {-code}{memory}"
    return f"exit status {code}"

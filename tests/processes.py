"""Processes for tests: one that may be killed, and several that form a job.

Importing torch takes seconds. So one server imports it, and each process is a fork of that.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any

Work = Callable[[Path], Any]

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["fairgear.cli", "fairgear.runs.execution"])
# Before a test sets a temporary folder of its own, whose name may be too long for a socket's.
get_temp_dir()


def started(work: Callable[..., None], *args: Any) -> ForkServerProcess:
    """A process that calls a function of a module."""
    process = _CONTEXT.Process(target=work, args=args)
    process.start()
    return process


def exit_code(work: Callable[..., None], *args: Any) -> int | None:
    """How such a process ends."""
    process = started(work, *args)
    process.join()
    return process.exitcode


def in_processes(work: Work, size: int, folder: Path) -> list[Any]:
    """What `work(folder)` returns in each process of a job, None for one that ended badly.

    The environment is that of torchrun. `work` is a function of a module, or a partial one, and
    JSON can hold what it returns.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = [
        _CONTEXT.Process(target=_take_part, args=(work, rank, size, port, folder))
        for rank in range(size)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    return [_answer(folder / f"answer{rank}.json") for rank in range(size)]


def _take_part(work: Work, rank: int, size: int, port: int, folder: Path) -> None:
    job = {"TORCHELASTIC_RUN_ID": "test", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    os.environ.update(job, **{name: str(number) for name, number in ranks.items()})
    (folder / f"answer{rank}.json").write_text(json.dumps(work(folder)))
    # Rank 0 holds the store that the others may still ask; under torchrun its agent does.
    others = [folder / f"answer{other}.json" for other in range(size)]
    deadline = time.monotonic() + 20
    while rank == 0 and time.monotonic() < deadline and not all(map(Path.exists, others)):
        time.sleep(0.02)
    # At once, like a process that is lost: nothing is said to the others.
    os._exit(0)


def _answer(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None

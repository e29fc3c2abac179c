"""Real processes that form a job, for tests of what they do together."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist

Work = Callable[[Path], Any]


def in_processes(work: Work, size: int, folder: Path) -> list[Any]:
    """What `work(folder)` gives in each of the processes, None for one that ended badly.

    `work` is a function of a module, and what it gives can be written as JSON.
    """
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(target=_take_part, args=(work, rank, size, folder)) for rank in range(size)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    return [_answer(folder / f"answer{rank}.json") for rank in range(size)]


def _take_part(work: Work, rank: int, size: int, folder: Path) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=60),
    )
    (folder / f"answer{rank}.json").write_text(json.dumps(work(folder)))
    # Without the good manners of the end: a process that was lost cannot keep them either.
    os._exit(0)


def _answer(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None

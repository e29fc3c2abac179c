"""Runs that fail, for worker processes: this file imports nothing that takes time."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Fake:
    """In place of a cell; runs with the same number are on one graph."""

    name: str
    graph: int


CELLS: Any = [Fake(f"{kind}-{graph}", graph) for graph in range(3) for kind in ("one", "other")]
KILLS, RAISES, KILLS_ONCE = "one-0", "one-2", "other-2"


def fragile(cell: Any, folder: Path) -> dict[str, Any]:
    """Leave a file for each attempt; some cells kill their process, or raise."""
    attempt = len(list(folder.glob(f"{cell.name}.*")))
    (folder / f"{cell.name}.{attempt}").touch()
    if cell.name == KILLS or (cell.name == KILLS_ONCE and attempt == 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if cell.name == RAISES:
        raise ValueError("no luck")
    return {}


def sleeps(cell: Any, folder: Path) -> dict[str, Any]:
    """Leave a file that names the process, and go on for long."""
    (folder / str(os.getpid())).touch()
    time.sleep(600)
    return {}


def deaf(cell: Any) -> dict[str, Any]:
    """Whether this process has been deaf to Ctrl-C since it was started."""
    return {"deaf": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])}

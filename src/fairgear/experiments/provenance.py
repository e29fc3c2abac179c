"""Where numbers come from: versions, data hash, and the time and memory of each stage."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fairgear.progress import log
from fairgear.version import installed_version

# The variable that names the commit of a copy.
COMMIT = "FAIRGEAR_COMMIT"


class Stages:
    """Seconds and peak memory of the stages of a run."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        # Asked for at once: by the end of a long run the files may be another commit's.
        self.commit = source_commit()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what happens inside; memory is the highest that the process has held so far."""
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        self.rows.append(
            {"stage": name, "seconds": round(seconds, 3), "peak_memory_mb": _peak_memory()}
        )
        log(f"{name}: {seconds:.1f} s")


def provenance(seed: int, data_sha256: str, stages: Stages) -> dict[str, Any]:
    """The facts that a reader needs to get the same numbers again."""
    import torch

    return {
        "version": installed_version(),
        "commit": stages.commit,
        "seed": seed,
        "data_sha256": data_sha256,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "stages": stages.rows,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def source_commit() -> str:
    """The commit of the source, where it is a checkout; a star if the code has changed since.

    The variable `FAIRGEAR_COMMIT` says it where the source was copied without its history.
    """
    root = Path(__file__).parents[3]
    if COMMIT in os.environ or not (root / ".git").exists():
        # Installed: any repository around it is somebody else's.
        return os.environ.get(COMMIT, "")
    changed = _git(root, "status", "--porcelain", "--", "src", "pyproject.toml")
    return _git(root, "rev-parse", "--short", "HEAD") + ("*" if changed else "")


def _git(root: Path, *words: str) -> str:
    """What git says; nothing where there is none."""
    command = ["git", "-C", str(root), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _peak_memory() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts kilobytes, macOS bytes.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)

"""Provenance: the command, its files, versions, machine, and what each stage cost."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import torch

from fairgear.evidence import FileHash, typed_command
from fairgear.graph import SensitiveGraph
from fairgear.progress import log
from fairgear.version import installed_version

# The variable that names the commit where the source was copied without its history.
COMMIT = "FAIRGEAR_COMMIT"


@dataclass(frozen=True)
class Stage:
    """What one stage cost."""

    stage: str
    seconds: float
    peak_memory_mb: float


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to get the same numbers again.

    Attributes:
        files: what was read: the data, and the model or its script.
        command: as it was typed; empty in Python.
        graph_fingerprint: a hash of the graph's tensors, the same whatever file they came from; it
            is the hash of no file.
    """

    version: str
    commit: str
    seed: int
    platform: str
    python: str
    torch: str
    threads: int
    device: str
    stages: tuple[Stage, ...]
    finished: str
    files: tuple[FileHash, ...] = ()
    command: str = ""
    graph_fingerprint: str = ""

    @property
    def seconds(self) -> float:
        """Of all stages."""
        return sum(stage.seconds for stage in self.stages)


class Stages:
    """Measures the stages of a run or an audit."""

    def __init__(self) -> None:
        self._rows: list[Stage] = []
        self.files: tuple[FileHash, ...] = ()
        """What was read; a run or an audit says."""
        # Read at once: by the end of a long run the files may be of another commit.
        self._commit = source_commit()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what happens inside; memory is the highest that the process has held so far."""
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        self._rows.append(Stage(name, round(seconds, 3), _peak_memory()))
        log(f"{name}: {seconds:.1f} s")

    def provenance(self, graph: SensitiveGraph, seed: int, device: str = "") -> Provenance:
        """The provenance of results on `graph`."""
        return Provenance(
            version=installed_version(),
            commit=self._commit,
            seed=seed,
            platform=platform.platform(),
            python=platform.python_version(),
            torch=str(torch.__version__),
            threads=torch.get_num_threads(),
            device=device,
            stages=tuple(self._rows),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            files=self.files,
            command=typed_command(),
            graph_fingerprint=graph.fingerprint(),
        )


@cache
def source_commit() -> str:
    """The commit of the source, where it is a checkout; with a star if the code has changed."""
    root = Path(__file__).parents[3]
    if COMMIT in os.environ or not (root / ".git").exists():
        # Installed: a repository around it is not this one.
        return os.environ.get(COMMIT, "")
    changed = _git(root, "status", "--porcelain", "--", "src", "pyproject.toml")
    return _git(root, "rev-parse", "--short", "HEAD") + ("*" if changed else "")


def _git(root: Path, *words: str) -> str:
    """The output of git; empty without git."""
    command = ["git", "-C", str(root), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _peak_memory() -> float:
    if sys.platform == "win32":
        # It has no such count.
        return math.nan
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts kilobytes, macOS bytes.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)

"""Time of several ways to the same result, in turns, and the memory of each."""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.bench.counts import Needs

# A run shorter than this is repeated within a round: the clock is too coarse for it.
SHORT = 0.1
# A first run longer than this counts as the first round instead of a warm-up.
LONG = 5.0
# `against` of a side that does other work than fairgear's: a ratio would mean nothing.
NOTHING = "nothing"


class Unsuitable(Exception):  # not an error: a side that does not apply at this size
    """A side that cannot be run here; the message says why."""


@dataclass(frozen=True)
class Work:
    """One side, set up: `run` does as much as `units`."""

    run: Callable[[], object]
    units: int
    note: str = ""
    overhead: Callable[[], object] | None = None
    """What `run` does besides; its time is subtracted."""
    needs: Callable[[], Needs] | None = None
    """Of a unit, where it differs from the benchmark's."""


@dataclass(frozen=True)
class Side:
    """One way to the result; `make` sets it up."""

    make: Callable[[], Work]
    against: str = ""
    """The side of fairgear that it is compared with; empty for fairgear's own; or `NOTHING`."""
    memory: bool = True
    """Whether to measure its memory, in a run of its own."""


@dataclass(frozen=True)
class Case:
    """A benchmark: its sides, fairgear's first, and what a unit of the work needs."""

    unit: str
    whole: int
    """Units that the whole graph has; 1 where that says nothing."""
    sides: dict[str, Side]
    needs: Callable[[], Needs] = Needs
    checks: Callable[[], dict[str, Any]] = dict


@dataclass
class _Timed:
    work: Work
    setup: float
    inner: int = 1
    runs: list[float] = field(default_factory=list)
    overheads: list[float] = field(default_factory=list)


def time_case(
    case: Case, repeats: int, enough: float, device: torch.device
) -> list[dict[str, Any]]:
    """One row per side: seconds per unit, the least and the median of rounds taken in turns."""
    rows: dict[str, dict[str, Any]] = {}
    timed: dict[str, _Timed] = {}
    begin = time.perf_counter()
    for name, side in case.sides.items():
        rows[name] = {"side": name, "against": side.against, "unit": case.unit, "whole": case.whole}
        try:
            work, seconds = _clock(side.make, device)
        except Unsuitable as reason:
            rows[name]["note"] = str(reason)
            continue
        timed[name] = _Timed(work, seconds)
        _first_run(timed[name], device)
    for _ in range(repeats):
        for one in timed.values():
            # Where turns are long, one is enough.
            if not one.runs or time.perf_counter() - begin < enough:
                _round(one, device)
    needs = case.needs()
    checks = case.checks()
    for name, one in timed.items():
        rows[name] |= _row(one, needs) | {"checks": checks.get(name, "")}
    return list(rows.values())


def memory_of(side: Side, device: torch.device) -> dict[str, float]:
    """What one run, its set-up included, adds to the memory of this process or of the GPU, in MB.

    On the CPU call it in a fresh process: the system only knows the peak of a process's life.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.init()  # type: ignore[no-untyped-call]  # torch gives it no type
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        side.make().run()
        return {"gpu_mb": (torch.cuda.max_memory_allocated() - held) / 2**20}
    before = resident_mb()
    side.make().run()
    return {"peak_mb": max(0.0, peak_mb() - before), "process_mb": peak_mb()}


def peak_mb() -> float:
    """The most memory that this process has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts kilobytes, macOS bytes.
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def resident_mb() -> float:
    """What it holds now; its peak where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_mb()
    return pages * resource.getpagesize() / 2**20


def _clock(work: Callable[[], Any], device: torch.device) -> tuple[Any, float]:
    _synchronize(device)
    begin = time.perf_counter()
    result = work()
    _synchronize(device)
    return result, time.perf_counter() - begin


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _first_run(one: _Timed, device: torch.device) -> None:
    """Compile, fill caches, and find how often the run fits into a round."""
    _, first = _clock(one.work.run, device)
    off = 0.0
    if one.work.overhead is not None:
        _, off = _clock(one.work.overhead, device)
    if first > LONG:
        one.runs.append(first)
        one.overheads.append(off)
        return
    _, seconds = _clock(one.work.run, device)
    one.inner = max(1, min(1000, round(SHORT / max(seconds, 1e-6))))


def _round(one: _Timed, device: torch.device) -> None:
    def several() -> None:
        for _ in range(one.inner):
            one.work.run()

    if one.work.overhead is not None:
        one.overheads.append(_clock(one.work.overhead, device)[1])
    one.runs.append(_clock(several, device)[1] / one.inner)


def _row(one: _Timed, needs: Needs) -> dict[str, Any]:
    if one.work.needs is not None:
        needs = one.work.needs()
    off = min(one.overheads, default=0.0)
    units = one.work.units
    return {
        "seconds": max(min(one.runs) - off, 0.0) / units,
        "median": max(statistics.median(one.runs) - off, 0.0) / units,
        "setup_seconds": one.setup,
        "units": units,
        "repeats": len(one.runs),
        "note": one.work.note,
        "operations": needs.operations,
        "bytes": needs.bytes,
        "accesses": needs.accesses,
    }

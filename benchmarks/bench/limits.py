"""What this machine can do at best, and how much of that a piece of work reaches.

Three limits are measured: arithmetic, memory bandwidth, random access to memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.compiled import compiled, in_chunks, threads

GEMM, BANDWIDTH, RANDOM = "GEMM", "bandwidth", "random access"
# What each limit is a limit of, as columns of the results.
NEEDED = {GEMM: "operations", BANDWIDTH: "bytes", RANDOM: "accesses"}
# 256 MB: larger than the caches.
WORDS = 2**26
DRAWS = 2**24
TARGET = 0.3
TRIALS = 3


def bound(row: Mapping[str, Any], rates: Mapping[str, float]) -> tuple[str, float] | None:
    """The limit that keeps a unit of the work longest, and the share of it that `row` reaches.

    None where nothing was counted or nothing measured.
    """
    least = {
        limit: float(row.get(needed) or 0.0) / rates[limit]
        for limit, needed in NEEDED.items()
        if rates.get(limit)
    }
    least = {limit: seconds for limit, seconds in least.items() if seconds > 0}
    seconds = float(row.get("seconds") or 0.0)
    if not least or not seconds > 0 or math.isnan(max(least.values())):
        return None
    limit = max(least, key=least.__getitem__)
    return limit, least[limit] / seconds


def measure_limits(device: torch.device) -> list[dict[str, Any]]:
    """A row a limit: operations, bytes or accesses a second, the best of some trials."""
    found = {
        GEMM: ("operations/s", _gemm(device)),
        BANDWIDTH: ("bytes/s", _bandwidth(device)),
        RANDOM: ("accesses/s", _random(device)),
    }
    return [{"side": name, "unit": unit, "rate": rate} for name, (unit, rate) in found.items()]


def _gemm(device: torch.device) -> float:
    """float32 products of square matrices that take about a third of a second each."""
    side, rate = 512, 0.0
    while True:
        one = torch.randn(side, side, device=device)
        seconds = _best(partial(torch.mm, one, one, out=torch.empty_like(one)), device)
        rate = max(rate, 2 * side**3 / seconds)
        if seconds > TARGET / 2 or side >= 16384:
            return rate
        side = min(16384, int(side * min(4.0, (TARGET / seconds) ** (1 / 3))) // 64 * 64 + 64)


def _bandwidth(device: torch.device) -> float:
    """a + s·b into c, 256 MB each: two are read and one is written."""
    a, b, c = (torch.ones(WORDS, device=device) for _ in range(3))
    seconds = _best(lambda: torch.add(a, b, alpha=0.5, out=c), device)
    return 3 * 4 * WORDS / seconds


def _random(device: torch.device) -> float:
    """4-byte values from anywhere in 256 MB; no access waits for the one before it."""
    if device.type == "cuda":
        values = torch.ones(WORDS, device=device)
        places = torch.randint(WORDS, (DRAWS,), device=device)
        return DRAWS / _best(lambda: values[places], device)
    array = np.ones(WORDS, np.float32)
    sums = np.zeros(threads() * 4, np.float64)
    share = DRAWS // len(sums)

    def work(start: int, stop: int) -> None:
        for part in range(start, stop):
            sums[part] = _gather(array, part * share, share)

    return DRAWS / _best(lambda: in_chunks(work, len(sums), 1, "random access"), device)


@compiled
def _gather(values: NDArray[np.float32], first: int, count: int) -> float:
    total = 0.0
    mask = len(values) - 1
    for number in range(first, first + count):
        place = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
        place ^= place >> np.uint64(29)
        place *= np.uint64(0xBF58476D1CE4E5B9)
        total += values[np.int64(place >> np.uint64(32)) & mask]
    return total


def _best(work: Callable[[], object], device: torch.device) -> float:
    """The least of some trials, after one to warm up."""
    seconds = []
    for _ in range(TRIALS + 1):
        begin = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])

"""Disks of 4 to 250 KB for results, for temporary files and for the cache."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from tests.torture.mounts import grown_disk, no_file_above, own_mounts, small_disk
from tests.torture.shared import COMMANDS, QUICK, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, RESUMED, answer, must, nothing_left

# Kilobytes, the least with room for a page of memory.
SIZES = (4, 8, 16, 40, 90, 140, 250)
_STATUSES = (1, 2)


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each command, each size, each place that it writes to."""
    for command in QUICK:
        for size in SIZES:
            yield Trial(f"{command}: results on {size} KB", results(command, size))
    for size in SIZES:
        yield Trial(f"audit of a command: temporary files on {size} KB", _beside("tmp", size))
    for size in SIZES[::3]:
        yield Trial(f"run: cache on {size} KB", _beside("cache", size))


def results(command: str, size: int) -> Work:
    """The disk of the results is full; then it has room, and the same command goes on."""
    *typed, out = COMMANDS[command]

    def work(bench: Bench) -> str:
        disk = bench.place / "disk"
        mounted = own_mounts() and small_disk(disk, size)
        disk.mkdir(exist_ok=True)
        before = None if mounted else lambda: no_file_above(size)
        command_line = [*typed, f"disk/{out}"]
        ended = bench.run(command_line, before)
        verdict = answer(ended, _STATUSES)
        nothing_left(bench.place)
        if verdict == REFUSED:
            grown_disk(disk)
            again = bench.run(command_line)
            must(again.status == 0, f"with room: status {again.status}: {again.err[-200:]!r}")
            verdict = RESUMED
        bench.same(command, disk / out)
        nothing_left(bench.place)
        return verdict

    return work


def _beside(place: str, size: int) -> Work:
    command = "audit of a command" if place == "tmp" else "run"

    def work(bench: Bench) -> str:
        disk = bench.place / place
        mounted = own_mounts() and small_disk(disk, size)

        def before() -> None:
            if place == "cache":
                # Compiled functions too.
                os.environ["NUMBA_CACHE_DIR"] = str(disk)
            if not mounted:
                no_file_above(size)

        ended = bench.run(COMMANDS[command], before)
        if bench.judged(ended, command, _STATUSES) == REFUSED:
            # Nothing needs a cache.
            must(place == "tmp", f"refused: {ended.err[-200:]!r}")
            grown_disk(disk)
            return bench.again(command)
        return "worked"

    return work

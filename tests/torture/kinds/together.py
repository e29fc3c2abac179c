"""Two commands in one folder: alike, or with other settings, at once or while one is at work."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator

from tests.torture.program import Program
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, WORKED, answer, must, nothing_left

# What another command in the same folder has other than the first.
_OTHER = {
    "run": ["--seed", "7"],
    "run gear": ["--seed", "7"],
    "export": ["--draws", "2"],
    "store": ["--drop", "age"],
}
_ALIKE = ("run", "run gear", "audit", "store", "report", "embed", "export")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Pairs of commands."""
    for command in _OTHER:
        for number in range(4):
            yield Trial(f"{command}: others with other settings, {number}", others(command))
    for command in _ALIKE:
        yield Trial(f"{command}: twice at once", _twice(command, killed=False))
        yield Trial(f"{command}: twice at once, the first killed", _twice(command, killed=True))


def others(command: str) -> Work:
    """The first is not disturbed by others that are refused, however often they come."""

    def work(bench: Bench) -> str:
        typed = COMMANDS[command]
        first = Program.of(bench.place, typed)
        time.sleep(bench.random.uniform(0.1, 0.3))
        seen = 0
        while seen < 6:
            other = Program.of(bench.place, [*typed, *_OTHER[command]], said="2")
            ended = bench.wait(other)
            must(ended.status in (0, 2), f"the other: status {ended.status}")
            if ended.status == 0:
                # It was there before the first, which is then the one that is refused.
                must(bench.wait(first).status == 2, "both were done in one folder")
                return REFUSED
            seen += 1
        ended = bench.wait(first)
        must(answer(ended) == WORKED, f"the first was refused: {ended.err[-300:]!r}")
        bench.same(command)
        nothing_left(bench.place)
        return WORKED

    return work


def _twice(command: str, *, killed: bool) -> Work:
    """One does it; the other does the same, or is refused in one line; then all is as ever."""

    def work(bench: Bench) -> str:
        typed = COMMANDS[command]
        first, second = (Program.of(bench.place, typed, said=name) for name in ("", "2"))
        if killed:
            time.sleep(bench.random.uniform(0.0, 0.6))
            first.signal(signal.SIGKILL)
        one, other = bench.wait(first), bench.wait(second)
        if not killed:
            must("Traceback" not in one.err, f"a traceback: {one.err[-300:]!r}")
            must(0 in (one.status, other.status), f"neither: {one.err[-300:]!r}")
            must({one.status, other.status} <= {0, 2}, f"status {one.status}, {other.status}")
        return bench.again(command)

    return work

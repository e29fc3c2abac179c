"""Killed, terminated or interrupted: at calls of the system, and at random moments."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator

from tests.torture.events import At, sent
from tests.torture.program import Ended, Program
from tests.torture.shared import COMMANDS, QUICK, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import answer, must, nothing_left

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
# Of each signal, where it comes at random.
_MOMENTS = 3
# Calls that remove what is temporary.
_CLEANING = ("os.remove", "os.rmdir", "open graph", "open fairgear-")
# Calls that are neither a rename nor a sync.
_OTHERS = 0.15


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each command, each signal."""
    for command in QUICK:
        for number, event in enumerate(shared.events(command)):
            if event.startswith(("os.rename", "os.link", "fsync")) or seed.random() < _OTHERS:
                yield at_call(command, seed.choice(SIGNALS), number, event)
    for command in COMMANDS:
        for one in SIGNALS:
            for moment in range(_MOMENTS if command in QUICK else 1):
                executed = moment == 0
                yield _at_random(command, one, moment, executed=executed)


def at_call(command: str, one: signal.Signals, number: int, event: str) -> Trial:
    """The signal comes before the n-th call."""

    def work(bench: Bench) -> str:
        ended = bench.run(COMMANDS[command], At(number, sent(one)).install)
        return _judged(bench, command, one, ended, cleans=event.startswith(_CLEANING))

    return Trial(f"{command}: {one.name} at call {number}, {event}", work)


def at_name(command: str, one: signal.Signals, event: str) -> Work:
    """The signal comes before the first call of that name."""

    def work(bench: Bench) -> str:
        ended = bench.run(COMMANDS[command], At(0, sent(one), name=event).install)
        return _judged(bench, command, one, ended)

    return work


def _at_random(command: str, one: signal.Signals, moment: int, *, executed: bool) -> Trial:
    def work(bench: Bench) -> str:
        start = Program.executed if executed else Program.of
        program = start(bench.place, COMMANDS[command])
        # A new interpreter imports for seconds.
        time.sleep(bench.random.uniform(0.02, 6.0 if executed else 0.6))
        program.signal(one)
        return _judged(bench, command, one, bench.wait(program))

    how = "new interpreter" if executed else "fork"
    return Trial(f"{command}: {one.name} at random moment {moment}, {how}", work)


def _judged(
    bench: Bench, command: str, one: signal.Signals, ended: Ended, *, cleans: bool = False
) -> str:
    """Of an interrupted command nothing is left; what it was about to remove, the next does."""
    if one in _STATUS and ended.status >= 0:
        answer(ended, [_STATUS[one]])
        if not cleans:
            nothing_left(bench.place)
    else:
        must(ended.status in (0, -one), f"status {ended.status} after {one.name}: {ended.err!r}")
    return bench.again(command)

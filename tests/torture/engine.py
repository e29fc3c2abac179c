"""Makes trials, some at a time, each in a process of its own."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from tests.torture.shared import Shared
from tests.torture.trial import Row, Trial, conducted
from tests.torture.verdicts import FAILED

# Seconds for a trial, whatever it does; its programs have less.
LONGEST = 900.0


def chosen(trials: Iterable[Trial], most: int, seed: random.Random) -> list[Trial]:
    """All trials, or as many of them as are wanted; fewer are a part of more."""
    found = list(trials)
    names = [trial.name for trial in found]
    if len(set(names)) < len(names):
        raise ValueError(f"two trials of one name among {names}")
    seed.shuffle(found)
    return found[:most]


def made(
    trials: Iterable[tuple[str, Trial]], shared: Shared, seed: int, jobs: int
) -> Iterator[Row]:
    """Their rows, as they end."""
    waiting, running = list(trials)[::-1], dict[int, _Running]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                one = _Running(*waiting.pop(), shared, seed)
                running[one.handle] = one
            ready = select.select(list(running), [], [], 1.0)[0]
            late = [h for h, one in running.items() if time.monotonic() > one.begun + LONGEST]
            for handle in {*ready, *late}:
                yield running.pop(handle).row()
    finally:
        for one in running.values():
            one.end()


class _Running:
    """A trial in its process."""

    def __init__(self, kind: str, trial: Trial, shared: Shared, seed: int) -> None:
        self._kind, self._trial, self.begun = kind, trial, time.monotonic()
        self.handle, theirs = os.pipe()
        self._pid = _forked(lambda: _send(theirs, conducted(kind, trial, shared, seed)))
        os.close(theirs)

    def row(self) -> Row:
        """What it found; it is over, or is ended."""
        if time.monotonic() > self.begun + LONGEST:
            self.end()
        sent = b""
        while part := os.read(self.handle, 1 << 16):
            sent += part
        os.close(self.handle)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if sent:
            return Row(**json.loads(sent))
        seconds = round(time.monotonic() - self.begun, 1)
        return Row(self._kind, self._trial.name, FAILED, seconds, 0, "the trial itself did not end")

    def end(self) -> None:
        """End the process and all in its group."""
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)


def _send(handle: int, row: Row) -> None:
    os.write(handle, json.dumps(asdict(row)).encode())


def _forked(work: Callable[[], Any]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            work()
        finally:
            os._exit(0)
    return pid

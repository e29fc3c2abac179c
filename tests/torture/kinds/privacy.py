"""What stays of people: on disk after a kill, in modes of files, in what is handed on."""

from __future__ import annotations

import os
import random
import signal
import stat
import time
from collections.abc import Iterator

from tests.torture.program import Program
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import RESUMED, WORKED, must, nothing_left

# Of what is about people.
PRIVATE = ("people.csv", "people.parquet", "predictions.parquet", "key.json")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Killed audits of commands, modes, and what encodings tell."""
    for number in range(8):
        yield Trial(f"audit of a command killed {number}", killed())
    for command in ("run", "audit", "export"):
        yield Trial(f"{command}: who may read what is about people", modes(command))
    yield Trial("a number of one person alone", _extremes())


def killed() -> Work:
    """Meanwhile nobody else may read the folder; the next command removes it."""

    def work(bench: Bench) -> str:
        program = Program.of(bench.place, COMMANDS["audit of a command"])
        end = time.monotonic() + 30
        while not (found := list((bench.place / "tmp").glob("*"))) and time.monotonic() < end:
            time.sleep(0.002)
        must(found, "no temporary folder")
        try:
            mode = stat.S_IMODE(found[0].stat().st_mode)
            must(not mode & 0o077, f"others may enter the folder: {mode:o}")
        except FileNotFoundError:
            pass
        time.sleep(bench.random.uniform(0, 0.1))
        program.signal(signal.SIGKILL)
        bench.wait(program)
        bench.again("audit of a command")
        nothing_left(bench.place)
        return RESUMED

    return work


def modes(command: str) -> Work:
    """Files about people are their owner's alone."""

    def work(bench: Bench) -> str:
        ended = bench.run(COMMANDS[command], lambda: os.umask(0o022))
        must(ended.status == 0, f"status {ended.status}")
        for path in (bench.place / "out").rglob("*"):
            if path.name in PRIVATE:
                mode = stat.S_IMODE(path.stat().st_mode)
                must(not mode & 0o077, f"others may read {path.name}: {mode:o}")
        return WORKED

    return work


def _extremes() -> Work:
    """A number that one person alone has, such as the highest income, only its owner may read."""

    def work(bench: Bench) -> str:
        import pandas as pd

        people = pd.read_csv(bench.place / "p.csv")
        people.loc[7, "income"] = 987_654_321
        people.loc[8, "debt"] = -123_456_789
        people.to_csv(bench.place / "p.csv", index=False)
        ended = bench.run(COMMANDS["run"], lambda: os.umask(0o022))
        must(ended.status == 0, f"status {ended.status}: {ended.err[-200:]!r}")
        for path in (bench.place / "out").rglob("*.*"):
            mode = stat.S_IMODE(path.stat().st_mode)
            open_to_others = path.is_file() and mode & 0o077
            held = path.read_bytes() if open_to_others else b""
            for number in (b"987654321", b"123456789"):
                must(number not in held, f"others may read the number of one person in {path.name}")
        return WORKED

    return work

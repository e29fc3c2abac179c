"""One trial: its folder, its random numbers, and the programs that it starts."""

from __future__ import annotations

import os
import random
import resource
import shutil
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairgear.errors import FairgearError
from tests.torture import program, verdicts
from tests.torture.program import Before, Ended, Program
from tests.torture.shared import COMMANDS, PATIENCE, QUICK, Shared, output
from tests.torture.verdicts import FAILED, REFUSED, RESUMED, WORKED, Failed

# Characters of what a trial says that are kept.
_SHOWN = 300
# Seconds in which workers notice that who started them was killed.
_GRACE = 4.0


class Bench:
    """What a trial works with: `place` is a copy of the inputs, `random` follows from the seed."""

    def __init__(self, shared: Shared, place: Path, seed: str) -> None:
        self.shared, self.place = shared, place
        self.random = random.Random(seed)
        self.peak = 0

    def run(
        self, typed: Sequence[str], before: Before | None = None, *, seconds: float = PATIENCE
    ) -> Ended:
        """`fairgear` with what was typed, to its end."""
        return self.wait(Program.of(self.place, typed, before), seconds)

    def call(
        self, work: Callable[[], Any], before: Before | None = None, *, seconds: float = PATIENCE
    ) -> Ended:
        """A function of the library in a process; its `FairgearError` is told as by a command."""

        def told() -> int:
            try:
                work()
            except FairgearError as error:
                os.write(2, f"fairgear: {error}\n".encode("utf-8", "replace"))
                return 2
            return 0

        return self.wait(Program.forked(self.place, told, before), seconds)

    def judged(
        self,
        ended: Ended,
        command: str | None = None,
        statuses: Iterable[int] = (2,),
        lines: Container[int] = (1,),
    ) -> str:
        """`WORKED` with the results of that command, or `REFUSED`; and nothing left behind."""
        verdict = verdicts.answer(ended, statuses, lines=lines)
        if verdict == WORKED and command is not None:
            self.same(command)
        verdicts.nothing_left(self.place)
        return verdict

    def same(self, command: str, out: Path | None = None) -> None:
        """The results are those of the undisturbed command."""
        found = output(self.place, command) if out is None else out
        verdicts.must(found.exists(), "no results")
        verdicts.same(verdicts.results(found), self.shared.expected(command))
        verdicts.sums_agree(found)

    def again(self, command: str) -> str:
        """The same command gives the undisturbed results, and leaves nothing else."""
        start = Program.of if command in QUICK else Program.executed
        ended = self.wait(start(self.place, COMMANDS[command]))
        verdicts.must(ended.status == 0, f"again: status {ended.status}: {ended.err[-200:]!r}")
        self.judged(ended, command)
        return RESUMED

    def wait(self, program: Program, seconds: float = PATIENCE) -> Ended:
        """How a program ends; its memory is counted from what it begins with."""
        ended = program.wait(seconds)
        ended = replace(ended, peak=ended.peak - self.shared.base)
        self.peak = max(self.peak, ended.peak)
        return ended


# What is done in a trial.
Work = Callable[[Bench], str]


@dataclass(frozen=True)
class Trial:
    """What is done, under a name; `work` returns a verdict or raises `Failed`."""

    name: str
    work: Work


# All trials of a kind, from what is shared and random numbers of the seed.
Kind = Callable[[Shared, random.Random], Iterator[Trial]]


@dataclass(frozen=True)
class Row:
    """How a trial ended."""

    kind: str
    trial: str
    verdict: str
    seconds: float
    """Of computing: others may have the processors."""
    megabytes: int
    said: str


def conducted(kind: str, trial: Trial, shared: Shared, seed: int) -> Row:
    """Make a trial, in a process of its own."""
    said, verdict = "", FAILED
    place = shared.root / f"trial-{os.getpid()}"
    shutil.copytree(shared.inputs, place)
    bench = Bench(shared, place, f"{seed} {kind} {trial.name}")
    try:
        program.adopt_orphans()
        verdict = trial.work(bench)
        verdicts.must(verdict in (WORKED, REFUSED, RESUMED), f"no verdict: {verdict}")
        left = program.children_after(_GRACE)
        verdicts.must(not left, f"{len(left)} processes are left")
    except Failed as error:
        verdict, said = FAILED, str(error)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        verdict, said = FAILED, f"the trial itself: {error!r} at {at.name}:{at.lineno}"
    finally:
        program.end_children()
        shutil.rmtree(place, ignore_errors=True)
    words = " ".join(said.split())[:_SHOWN].encode("unicode_escape").decode()
    return Row(kind, trial.name, verdict, _seconds(), bench.peak, words)


def _seconds() -> float:
    """Of computing, by this process and those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(one.ru_utime + one.ru_stime for one in used), 1)

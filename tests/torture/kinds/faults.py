"""Any call of the system fails, or finds no memory: one line, and the same command goes on."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

from tests.torture.events import ERRORS, At, Sites, error, no_memory
from tests.torture.program import Before, Ended
from tests.torture.shared import COMMANDS, QUICK, Shared
from tests.torture.trial import Bench, Trial
from tests.torture.verdicts import REFUSED, answer, nothing_left

# What the system or memory refuses is nobody's bad input, or is named as such with its file.
STATUSES = (1, 2)
_REMOVING = ("os.remove", "os.rmdir")


def failing(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each call of each command is answered with an error; of one in three, later ones too."""
    for command in QUICK:
        for number, event in enumerate(shared.events(command)):
            name, lasting = seed.choice(list(ERRORS)), seed.random() < 0.3
            act = At(number, error(ERRORS[name]), on=10**9 if lasting else 0)
            when = f"from call {number} on" if lasting else f"at call {number}"
            said = f"{command}: {name} {when}, {event}"
            removing = lasting or event.startswith(_REMOVING)
            yield trial(said, command, act.install, cleans=not removing)


def without_memory(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """The first call from each place of the source raises MemoryError, a place a trial."""
    for command in QUICK:
        sites = shared.sites(command)
        for number in sorted(seed.sample(range(1, sites + 1), min(60, sites))):
            yield at_place(command, number)


def at_place(command: str, number: int) -> Trial:
    """The n-th place calls something for the first time."""
    act = Sites(number, no_memory)
    said = f"{command}: MemoryError at place {number}"
    return trial(said, command, lambda: sys.setprofile(act), cleans=False)


def trial(name: str, command: str, before: Before, *, cleans: bool = True) -> Trial:
    def work(bench: Bench) -> str:
        ended = bench.run(COMMANDS[command], before)
        return judged(bench, command, ended, cleans=cleans)

    return Trial(name, work)


def judged(bench: Bench, command: str, ended: Ended, *, cleans: bool = True) -> str:
    """Worked, or one line; then the same command gives what it always gives."""
    verdict = answer(ended, STATUSES)
    if verdict != REFUSED:
        # What cannot be removed stays until the next command.
        bench.same(command)
    if cleans:
        nothing_left(bench.place)
    return bench.again(command)

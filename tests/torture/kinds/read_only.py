"""Nothing can be written but the results: containers, and users without a home."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from tests.torture.mounts import as_nobody, own_mounts, read_only, still_writable
from tests.torture.program import Program
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import WORKED, must

_COMMANDS = ("run", "run gear", "audit", "export", "store", "report")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each command with a cache of compiled code that is read-only, without one, as nobody."""
    for command in _COMMANDS:
        yield Trial(f"{command}: read-only root", rooted(command, compiled=True))
        yield Trial(f"{command}: nobody, no home", _nobody(command))
    yield Trial("run: read-only root, no compiled code", rooted("run", compiled=False))
    yield Trial("run: read-only root, new interpreter", _executed())


def rooted(command: str, *, compiled: bool) -> Work:
    """Everything but the trial's own folder is read-only."""

    def work(bench: Bench) -> str:
        alone = _alone(bench)
        tmp = bench.place / "tmp"
        tmp.mkdir(exist_ok=True)
        if alone and command != "audit of a command":
            must(read_only(str(tmp)), "cannot mount")

        def before() -> None:
            os.environ.update(HOME="/proc/nobody", FAIRGEAR_CACHE="/proc/nowhere")
            if not compiled:
                os.environ["NUMBA_CACHE_DIR"] = "/proc/nowhere"
            if not alone:
                os.environ["TMPDIR"] = "/proc/nowhere"

        ended = bench.run(COMMANDS[command], before)
        must(ended.status == 0, f"status {ended.status}: {ended.err[-300:]!r}")
        must(ended.err.count("without a cache") <= 1, "more than one line about the cache")
        return bench.judged(ended, command)

    return work


def _nobody(command: str) -> Work:
    def work(bench: Bench) -> str:
        def before() -> None:
            as_nobody(bench.place)
            os.environ.update(HOME="/nonexistent")
            os.environ.pop("FAIRGEAR_CACHE")

        os.chmod(bench.shared.root, 0o755)
        ended = bench.run(COMMANDS[command], before)
        must(ended.status == 0, f"status {ended.status}: {ended.err[-300:]!r}")
        return bench.judged(ended, command)

    return work


def _executed() -> Work:
    def work(bench: Bench) -> str:
        _alone(bench)
        nowhere = {"HOME": "/proc/nobody", "FAIRGEAR_CACHE": "/proc/nowhere"}
        program = Program.executed(bench.place, COMMANDS["run"], nowhere)
        ended = bench.wait(program)
        must(ended.status == 0, f"status {ended.status}: {ended.err[-300:]!r}")
        bench.same("run")
        return WORKED

    return work


def _alone(bench: Bench) -> bool:
    """Whether everything but the trial's place is read-only now."""
    if not (own_mounts() and still_writable(bench.place)):
        return False
    places = ["/", *(p for p in ("/tmp", "/dev/shm", "/var/tmp") if os.path.ismount(p))]
    return read_only(*places)

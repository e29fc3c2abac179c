"""`.pt` files: tensors that claim more than they hold, of odd kinds, and pickles."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.hostile import inputs
from tests.hostile.storage import bomb
from tests.torture.shared import Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import must

_TYPED = ["x.pt", "--label", "y", "--sensitive", "sex"]
_COMMANDS = {
    "run": ["run", *_TYPED, "--method", "logistic", "--quick", "--out", "out"],
    "audit": ["audit", "score.py:scores", *_TYPED, "--out", "out"],
}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each file, as training data and as people of an audit."""
    for name in inputs.PT_FILES:
        yield Trial(f"{name}: run", _read(name, "run"))
        yield Trial(f"{name}: data", _data(name))
    for command in ("run", "audit"):
        yield Trial(f"a pickle that executes: {command}", planted(command))


def _read(name: str, command: str) -> Work:
    def work(bench: Bench) -> str:
        inputs.PT_FILES[name](bench.place / "x.pt")
        ended = bench.run(_COMMANDS[command])
        return bench.judged(ended)

    return work


def _data(name: str) -> Work:
    def work(bench: Bench) -> str:
        inputs.PT_FILES[name](bench.place / "x.pt")
        return bench.judged(bench.run(["data", *_TYPED]), lines=(0, 1))

    return work


def planted(command: str) -> Work:
    """Nothing is unpickled that could execute."""

    def work(bench: Bench) -> str:
        trace = bench.place / "executed"
        (bench.place / "x.pt").write_bytes(bomb(trace))
        ended = bench.run(_COMMANDS[command])
        must(not trace.exists(), "what was planted was executed")
        must(ended.status == 2, f"status {ended.status}")
        return bench.judged(ended)

    return work

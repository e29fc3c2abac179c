"""Stored graphs whose arrays hold what no graph may hold, with hashes that agree or do not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from tests.hostile.storage import DAMAGE
from tests.hostile.stored import IMPOSSIBLE, sealed
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

COMMAND = "run stored"
_ARRAYS = ("x.npy", "edge_index.npy", "indptr.npy", "y.npy", "node_id.npy", "meta.json")
# Facts that may differ and tell the same graph.
_FACTS: dict[str, object] = {
    "more people": 10**12,
    "people as text": "60",
    "people that are none": -1,
    "no people": None,
}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each impossible array, some damage of files, and facts of meta.json."""
    for name in IMPOSSIBLE:
        yield Trial(name, impossible(name))
    for name in DAMAGE:
        one = seed.choice(_ARRAYS)
        yield Trial(f"{one}: {name}", _damaged(one, name))
    for name, value in _FACTS.items():
        yield Trial(name, _facts(value))


def impossible(name: str) -> Work:
    """It is refused."""

    def work(bench: Bench) -> str:
        folder = bench.place / "stored"
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        sealed(folder, IMPOSSIBLE[name](arrays))
        return _refused(bench)

    return work


def _damaged(file: str, name: str) -> Work:
    def work(bench: Bench) -> str:
        DAMAGE[name](bench.place / "stored" / file)
        # A link to the same file is the file; what follows the numbers is not read.
        return bench.judged(bench.run(COMMANDS[COMMAND], seconds=30), COMMAND)

    return work


def _facts(value: object) -> Work:
    def work(bench: Bench) -> str:
        sealed(bench.place / "stored", {}, nodes=value)
        # The arrays say it too.
        return bench.judged(bench.run(COMMANDS[COMMAND], seconds=30), COMMAND)

    return work


def _refused(bench: Bench) -> str:
    verdict = bench.judged(bench.run(COMMANDS[COMMAND], seconds=30))
    must(verdict == REFUSED, "accepted")
    must(not (bench.place / "out").exists(), "a folder was made")
    return verdict

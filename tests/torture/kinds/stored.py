"""Stored graphs whose arrays hold what no graph may hold, with hashes that agree or do not."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.hostile.storage import DAMAGE
from tests.hostile.stored import IMPOSSIBLE, sealed
from tests.torture.shared import Shared, output
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

_RUN = ["run", "stored", "--method", "logistic", "--device", "cpu", "--quick", "--out", "out"]
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
        folder = _copied(bench)
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        sealed(folder, IMPOSSIBLE[name](arrays))
        return _refused(bench)

    return work


def _damaged(file: str, name: str) -> Work:
    def work(bench: Bench) -> str:
        DAMAGE[name](_copied(bench) / file)
        # A link to the same file is the file.
        return _refused(bench) if name != "a link" else bench.judged(bench.run(_RUN, seconds=30))

    return work


def _facts(value: object) -> Work:
    def work(bench: Bench) -> str:
        sealed(_copied(bench), {}, nodes=value)
        return _refused(bench)

    return work


def _refused(bench: Bench) -> str:
    verdict = bench.judged(bench.run(_RUN, seconds=30))
    must(verdict == REFUSED, "accepted")
    must(not (bench.place / "out").exists(), "a folder was made")
    return verdict


def _copied(bench: Bench) -> Path:
    folder = bench.place / "stored"
    shutil.copytree(output(bench.shared.root / "store", "store"), folder)
    return folder

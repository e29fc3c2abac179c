"""What trials begin with: inputs, the commands that are typed, what undisturbed ones give."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from fairgear.training import checkpoints
from tests.hostile.faults import tiny_inputs
from tests.torture.events import Recorder
from tests.torture.program import Program
from tests.torture.verdicts import Failed, answer, nothing_left, results, sums_agree

DATA = ["p.csv", "--edges", "f.csv", "--label", "approved", "--sensitive", "sex"]
FEW = ["--draws", "1", "--self-people", "2", "--no-other-causal-models"]
FEW += ["--affected-people", "1", "--what-if-people", "2"]
# A model behind a command; it prints its scores.
SCORES = """
import csv, sys
print("node_id,score")
with open(sys.argv[1] + "/nodes.csv") as file:
    for row in csv.DictReader(file):
        print(row["node_id"], 0.3 + 0.4 * (row["sex"] == "male"), sep=",")
"""
# No modules of the site: a start takes hundredths of a second.
PROGRAM = f"{sys.executable} -I -S score.py {{graph}}"
STORE = ["store", "--edges", "e.csv", "--features", "t.parquet", "--label", "approved"]
# All write to `out`.
COMMANDS: dict[str, list[str]] = {
    "run": ["run", *DATA, "--method", "logistic", "--device", "cpu", "--quick", "--out", "out"],
    "run gear": [
        *("run", *DATA, "--device", "cpu", "--set", "steps=3", "--set", "dim=4"),
        *("--quick", "--out", "out"),
    ],
    "audit": ["audit", "trained", "--device", "cpu", *FEW, "--out", "out"],
    "audit of a command": ["audit", PROGRAM, *DATA, *FEW, "--out", "out"],
    "audit of scores": ["audit", "scores.csv", *DATA, "--out", "out"],
    "export": ["audit", "export", *DATA, *FEW, "--out", "out"],
    "store": [*STORE, "--sensitive", "sex", "--out", "out"],
    "run stored": [
        *("run", "stored", "--method", "logistic", "--device", "cpu", "--quick", "--out", "out"),
    ],
    "report": ["report", "trained", "--out", "out"],
    "embed": ["embed", "geared/model", *DATA, "--device", "cpu", "--out", "out.parquet"],
    "compare": [
        *("compare", "--datasets", *DATA, "--methods", "logistic", "--seeds", "1"),
        *("--jobs", "1", "--quick", "--out", "out"),
    ],
}
# Those that do not start further interpreters, each with its own way to write.
QUICK = [name for name in COMMANDS if name not in ("compare", "run stored")]
# What of these is an input of others, under which name.
_KEPT = {"run": "trained", "run gear": "geared", "store": "stored", "export": "exported"}
# Seconds that any of them may take on a busy machine.
PATIENCE = 120.0


class Shared:
    """The folder of all that."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inputs = root / "inputs"
        self.base = 0

    def prepare(self, commands: Iterable[str] = QUICK) -> None:
        """Run each of the commands undisturbed."""
        # Else a tiny run is over before the first; results are the same.
        checkpoints._SECONDS_BETWEEN, checkpoints._TIMES_WRITING = 0.0, 0.0
        _write_inputs(self.inputs)
        self.base = Program.forked(self.place("nothing"), lambda: 0).wait(PATIENCE).peak
        for name, kept in _KEPT.items():
            folder = self.place(f"before {name}")
            _undisturbed(Program.of(folder, COMMANDS[name]))
            output(folder, name).rename(self.inputs / kept)
        for name in commands:
            folder = self.place(name)
            if name not in QUICK:
                _undisturbed(Program.executed(folder, COMMANDS[name]))
                continue
            _undisturbed(Program.of(folder, COMMANDS[name], Recorder(folder).install))
            nothing_left(folder)
            sums_agree(folder)
            _import(json.loads((folder / ".modules.json").read_text()))

    def place(self, name: str) -> Path:
        """A folder of its own with the inputs."""
        folder = self.root / name
        shutil.copytree(self.inputs, folder)
        return folder

    def expected(self, command: str) -> dict[str, str]:
        """The results of an undisturbed command."""
        return results(output(self.root / command, command))

    def events(self, command: str) -> list[str]:
        """What it asked of the system, in this order."""
        found: list[str] = json.loads((self.root / command / ".events.json").read_text())
        return found

    def sites(self, command: str) -> int:
        """How many places of the source it called something from."""
        found: int = json.loads((self.root / command / ".sites.json").read_text())
        return found


def output(place: Path, command: str) -> Path:
    """Where a command of `COMMANDS` writes."""
    return place / COMMANDS[command][-1]


def _import(names: Sequence[str]) -> None:
    """What a command imports on its way: forks start faster, users who may not read it go on."""
    for name in names:
        if name not in sys.modules and name.partition(".")[0] != "__main__":
            with suppress(Exception):
                importlib.import_module(name)


def _write_inputs(folder: Path) -> None:
    tiny_inputs(folder)
    people, links = pd.read_csv(folder / "p.csv"), pd.read_csv(folder / "f.csv")
    row = {name: number for number, name in enumerate(people["id"])}
    people.drop(columns="id").to_parquet(folder / "t.parquet")
    links.apply(lambda ends: ends.map(row)).to_csv(folder / "e.csv", index=False)
    scores = np.random.default_rng(0).random(len(people)).round(3)
    pd.DataFrame({"id": people["id"], "score": scores}).to_csv(folder / "scores.csv", index=False)
    (folder / "score.py").write_text(SCORES)


def _undisturbed(program: Program) -> None:
    ended = program.wait(10 * PATIENCE)
    if ended.status:
        raise Failed(f"undisturbed: status {ended.status}, {ended.err}")
    answer(ended, most=10**6)

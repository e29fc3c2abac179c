"""Files and folders of somebody else, as a user who may not read or write them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from tests.torture.mounts import as_nobody
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

_NONE, _WRITE = 0o000, 0o333
# The system, or the reader of a file, refuses.
_STATUSES = (1, 2)
# The command, what it may not use, and its mode.
CASES: dict[str, tuple[str, str, int]] = {
    "an unreadable table": ("run", "p.csv", _NONE),
    "unreadable edges": ("run", "f.csv", _NONE),
    "an unreadable run": ("audit", "trained", _NONE),
    "a run one may not list": ("audit", "trained", _WRITE),
    "an unreadable model": ("audit", "trained/model", _NONE),
    "unreadable weights": ("audit", "trained/model/weights.safetensors", _NONE),
    "an unreadable model.json": ("audit", "trained/model/model.json", _NONE),
    "an unreadable encoding": ("audit", "trained/model/encoding.json", _NONE),
    "unreadable settings": ("audit", "trained/config.yaml", _NONE),
    "unreadable results": ("report", "trained/audit.json", _NONE),
    "unreadable people": ("report", "trained/people.parquet", _NONE),
    "an unreadable audit": ("report", "trained", _NONE),
    "unreadable scores": ("audit of scores", "scores.csv", _NONE),
    "an unreadable script": ("audit of a command", "score.py", _NONE),
    "unreadable features": ("store", "t.parquet", _NONE),
    "unreadable edges to store": ("store", "e.csv", _NONE),
    "unreadable model to embed": ("embed", "geared/model", _NONE),
}
_OUTS = ("run", "audit", "export", "store", "report", "embed", "audit of scores")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each file, and an output folder that cannot be made, listed or written."""
    for name, (command, path, mode) in CASES.items():
        yield Trial(f"{command}: {name}", refused(command, path, mode))
    for command in _OUTS:
        yield Trial(f"{command}: the folder of the results is read-only", _no_place(command, 0o555))
        yield Trial(f"{command}: the results belong to root", _of_root(command))
    yield Trial("run: no temporary folder", _no_temporary())


def refused(command: str, path: str, mode: int) -> Work:
    """One line; nothing is made."""

    def work(bench: Bench) -> str:
        def before() -> None:
            as_nobody(bench.place)
            os.chmod(path, mode)

        os.chmod(bench.shared.root, 0o755)
        ended = bench.run(COMMANDS[command], before)
        os.chmod(bench.place / path, 0o755)
        verdict = bench.judged(ended, command, _STATUSES)
        # What need not be listed is found by its name.
        must(verdict == REFUSED or mode == _WRITE, "accepted")
        must(verdict != REFUSED or not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work


def _no_place(command: str, mode: int) -> Work:
    *typed, out = COMMANDS[command]

    def work(bench: Bench) -> str:
        os.chmod(bench.shared.root, 0o755)
        (bench.place / "locked").mkdir()

        def before() -> None:
            as_nobody(bench.place)
            os.chmod("locked", mode)

        ended = bench.run([*typed, f"locked/{out}"], before)
        os.chmod(bench.place / "locked", 0o755)
        verdict = bench.judged(ended, statuses=_STATUSES)
        must(verdict == REFUSED, "accepted")
        must(not list((bench.place / "locked").iterdir()), "something was made")
        return verdict

    return work


def _of_root(command: str) -> Work:
    *typed, out = COMMANDS[command]

    def work(bench: Bench) -> str:
        os.chmod(bench.shared.root, 0o755)

        def before() -> None:
            as_nobody(bench.place, but=("roots",))

        (bench.place / "roots").mkdir(mode=0o700)
        verdict = bench.judged(bench.run([*typed, f"roots/{out}"], before), statuses=_STATUSES)
        must(verdict == REFUSED, "accepted")
        return verdict

    return work


def _no_temporary() -> Work:
    def work(bench: Bench) -> str:
        os.chmod(bench.shared.root, 0o755)

        def before() -> None:
            as_nobody(bench.place)
            os.environ["TMPDIR"] = "/nonexistent"

        return bench.judged(bench.run(COMMANDS["run"], before), "run")

    return work

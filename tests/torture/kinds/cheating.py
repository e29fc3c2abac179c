"""The audited party returns other files, other scores, or more than was asked for."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairgear.documents import sealed, unsealed
from tests.hostile.inputs import ESCAPE
from tests.hostile.storage import DAMAGE, bomb
from tests.hostile.test_saved import WRONG
from tests.torture.shared import Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, WORKED, content, must, results, same

_SCORE = ["audit", "score", "out", "--out", "scored"]
# What the party does with the folder that it was given, `for-scoring`.
TRICKS: dict[str, Callable[[Path], object]] = {
    "a manifest of its own": lambda f: (f / "manifest.json").write_text('{"audited": [1]}'),
    "a key of its own": lambda f: own_key(f),
    "people left out of the worlds": lambda f: list(map(_cut, f.rglob("nodes.csv"))),
    "worlds removed": lambda f: shutil.rmtree(f / "worlds"),
    "worlds replaced by one": lambda f: _one_world(f),
    "edges removed": lambda f: [p.write_text("source,target\n") for p in f.rglob("edges.csv")],
    "a README of its own": lambda f: (f / "README.txt").write_text(ESCAPE),
    "further files": lambda f: [(f / "scores" / n).write_text("x") for n in ("a.csv", ".b", "c")],
    "a pickle beside": lambda f: (f / "scores" / "world.pkl").write_bytes(bomb(f / "executed")),
}
# What it does with one of the files of scores.
SCORES: dict[str, Callable[[Path], object]] = {
    **{name: spoil for name, spoil in DAMAGE.items() if not name.startswith("bit")},
    "a link to a secret": lambda p: _linked(p, "/etc/passwd"),
    "a link to a device": lambda p: _linked(p, "/dev/zero"),
    "a link to itself": lambda p: _linked(p, str(p)),
    "text for a score": lambda p: _replaced(p, "score", "x"),
    "NaN": lambda p: _replaced(p, "score", float("nan")),
    "infinity": lambda p: _replaced(p, "score", float("inf")),
    "beyond 1": lambda p: _replaced(p, "score", 7.0),
    "a person twice": lambda p: _replaced(p, "node_id", 3),
    "a person who is not there": lambda p: _replaced(p, "node_id", 10**9),
    "escape": lambda p: p.write_text(f"node_id,score\n{ESCAPE},1\n"),
    "5,000 digits": lambda p: p.write_text("node_id,score\n" + "9" * 5000 + ",1\n"),
    "both forms": lambda p: np.save(p.with_suffix(".npy"), np.ones(3)),
}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Tricks with what was handed over, with scores, and with the key that stayed."""
    for name, trick in TRICKS.items():
        yield Trial(f"handed over: {name}", tricked(trick))
    for name, spoil in SCORES.items():
        yield Trial(f"scores: {name}", _spoilt(spoil))
    for number, key in enumerate(
        ("audited", "worlds", "node_ids", "fingerprint", "secret", "draws")
    ):
        for value in seed.sample(WRONG, 2):
            yield Trial(f"key: {key} is {str(value)[:20]}", _key(key, value))
        yield Trial(f"key: bit {number}", _flipped(number))
    yield Trial("names tell nothing", _names())
    yield Trial("absolute paths in the key", _absolute())


def tricked(trick: Callable[[Path], object]) -> Work:
    """Only scores are read of what returns, so nothing else changes the figures."""

    def work(bench: Bench) -> str:
        _scored(bench)
        expected = _audited(bench)
        trick(bench.place / "out" / "for-scoring")
        before = content(bench.place / "out" / "for-scoring")
        ended = bench.run(_SCORE, seconds=60)
        must(not (bench.place / "out/for-scoring/executed").exists(), "something was executed")
        verdict = bench.judged(ended)
        if verdict == WORKED:
            same(results(bench.place / "scored"), expected)
        same(content(bench.place / "out" / "for-scoring"), before, "files")
        return verdict

    return work


def _spoilt(spoil: Callable[[Path], object]) -> Work:
    def work(bench: Bench) -> str:
        files = _scored(bench)
        expected = _audited(bench)
        path = bench.random.choice(files)
        spoil(path)
        ended = bench.run(_SCORE, seconds=60)
        verdict = bench.judged(ended)
        if verdict == WORKED:
            # A link to a copy holds the same.
            same(results(bench.place / "scored"), expected)
        return verdict

    return work


def _key(key: str, value: object) -> Work:
    def work(bench: Bench) -> str:
        _scored(bench)
        expected = _audited(bench)
        path = bench.place / "out" / "key.json"
        held = unsealed(json.loads(path.read_text()))
        # Its hash is no secret: who changes it on purpose writes it anew.
        path.write_text(json.dumps(sealed({**held, key: value})))
        verdict = bench.judged(bench.run(_SCORE, seconds=60))
        if verdict == WORKED:
            same(results(bench.place / "scored"), expected)
        return verdict

    return work


def _flipped(number: int) -> Work:
    def work(bench: Bench) -> str:
        _scored(bench)
        expected = _audited(bench)
        path = bench.place / "out" / "key.json"
        held = bytearray(path.read_bytes())
        held[bench.random.randrange(len(held))] ^= 1 << bench.random.randrange(7)
        path.write_bytes(held)
        verdict = bench.judged(bench.run(_SCORE, seconds=60))
        if verdict == WORKED:
            same(results(bench.place / "scored"), expected)
        return verdict

    return work


def _absolute() -> Work:
    """Even the auditor's own key reads nothing outside the folder."""

    def work(bench: Bench) -> str:
        _scored(bench)
        path = bench.place / "out" / "key.json"
        held = unsealed(json.loads(path.read_text()))
        held["worlds"][0]["scores"] = str(bench.place / "scores")
        path.write_text(json.dumps(sealed(held)))
        verdict = bench.judged(bench.run(_SCORE, seconds=60))
        must(verdict == REFUSED, "a path outside the folder was read")
        return verdict

    return work


def _names() -> Work:
    """Names, sizes in folders, dates and orders do not tell which graph is real."""

    def work(bench: Bench) -> str:
        folder = bench.place / "exported" / "for-scoring"
        said = " ".join(str(path.relative_to(folder)) for path in folder.rglob("*")).lower()
        for word in ("factual", "real", "unchanged", "draw", "flip", "self"):
            must(word not in said, f"a name says {word!r}")
        original = bench.shared.inputs / "exported" / "for-scoring" / "worlds"
        times = {entry.stat().st_mtime for entry in original.iterdir()}
        must(len(times) <= 1, f"{len(times)} times of change tell the order")
        held = json.loads((bench.place / "exported" / "key.json").read_text())
        codes = [Path(world["path"]).name for world in held["worlds"]]
        must(len(set(codes)) == len(codes), "a code twice")
        return WORKED

    return work


def _scored(bench: Bench) -> list[Path]:
    """An export, with a file of scores for each graph."""
    (bench.place / "exported").rename(bench.place / "out")
    folder = bench.place / "out" / "for-scoring"
    files = []
    for nodes in sorted((folder / "worlds").glob("*/nodes.csv")):
        table = pd.read_csv(nodes)
        table["score"] = 0.3 + 0.4 * (table["sex"] == "male")
        files.append(folder / "scores" / f"{nodes.parent.name}.csv")
        table[["node_id", "score"]].to_csv(files[-1], index=False)
    return files


def _audited(bench: Bench) -> dict[str, str]:
    ended = bench.run(_SCORE)
    must(ended.status == 0, f"undisturbed: {ended.err[-300:]!r}")
    found = results(bench.place / "scored")
    shutil.rmtree(bench.place / "scored")
    return found


def own_key(folder: Path) -> None:
    """The right key, but for half of the audited people."""
    held = unsealed(json.loads((folder.parent / "key.json").read_text()))
    held["audited"] = held["audited"][::2]
    (folder / "key.json").write_text(json.dumps(sealed(held)))


def _cut(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:20]))


def _one_world(folder: Path) -> None:
    first, *others = sorted((folder / "worlds").iterdir())
    for other in others:
        shutil.rmtree(other)
        shutil.copytree(first, other)


def _linked(path: Path, target: str) -> None:
    path.unlink()
    os.symlink(target, path)


def _replaced(path: Path, column: str, value: Any) -> None:
    table = pd.read_csv(path).astype({column: object})
    table.loc[1, column] = value
    table.to_csv(path, index=False)

"""Bombs, tags, huge numbers and odd names in YAML files and behind --set and other flags."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.hostile import inputs
from tests.torture.shared import DATA, FEW, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

_RUN = ["run", *DATA, "--method", "gear-paper", "--quick", "--device", "cpu", "--out", "out"]
_LONG, _NUL = "x" * 300, "a\ud800b"
# Flags with what nobody means.
FLAGS: dict[str, list[str]] = {
    "long name": ["run", *DATA, "--out", _LONG],
    "long name below": ["run", *DATA, "--out", f"a/{_LONG}/b"],
    "long data": ["run", _LONG + ".csv", "--label", "approved", "--sensitive", "sex"],
    "long label": ["run", *DATA[:3], "--label", "x" * 100_000, "--sensitive", "sex"],
    "escape in label": ["run", *DATA[:3], "--label", inputs.ESCAPE, "--sensitive", "sex"],
    "turned data": ["run", inputs.TURNED, "--label", "a", "--sensitive", "sex"],
    "half a character": ["run", _NUL, "--label", "a", "--sensitive", "sex"],
    "huge seed": ["run", *DATA, "--seed", "9" * 5000, "--out", "out"],
    "negative seed": ["run", *DATA, "--seed", "-1", "--out", "out"],
    "nan similarity": ["run", "p.csv", *DATA[3:], "--similarity", "nan", "--out", "out"],
    "infinite similarity": ["run", "p.csv", *DATA[3:], "--similarity", "inf", "--out", "out"],
    "huge neighbors": ["run", "p.csv", *DATA[3:], "--similarity", "0.5", "--neighbors", "9" * 30],
    "no method": ["run", *DATA, "--method", "../../x", "--out", "out"],
    "method with escape": ["run", *DATA, "--method", inputs.ESCAPE, "--out", "out"],
    "method module": ["run", *DATA, "--method", "os:system", "--out", "out"],
    "no device": ["run", *DATA, "--device", "cuda:99", "--out", "out"],
    "odd device": ["run", *DATA, "--device", "\u2066", "--out", "out"],
    "split": ["run", *DATA, "--split", "a" * 400, "--out", "out"],
    "sensitive formula": ["run", *DATA[:5], "--sensitive", "age<" * 3000, "--out", "out"],
    "sensitive deep": ["run", *DATA[:5], "--sensitive", ",".join(["sex"] * 3000), "--out", "out"],
    "kind": ["run", *DATA, "--sensitive-kind", "sex=" * 500, "--out", "out"],
    "condition": ["audit", "trained", "--fail-if", "delta_cf > " + "9" * 5000, "--out", "out"],
    "condition deep": ["audit", "trained", "--fail-if", "(" * 5000, "--out", "out"],
    "condition escape": ["audit", "trained", "--fail-if", inputs.ESCAPE, "--out", "out"],
    "draws": ["audit", "trained", "--draws", "9" * 4000, "--out", "out"],
    "draws beyond": ["audit", "trained", *FEW, "--draws", "10000000000000", "--out", "out"],
    "level": ["audit", "trained", "--level", "nan", "--out", "out"],
    "people": ["audit", "trained", "--self-people", "-5", "--out", "out"],
    "causal": ["audit", "trained", "--causal", "\x1b[31m", "--out", "out"],
    "causal file": ["audit", "trained", "--causal", "/dev/zero", "--out", "out"],
    "nodes device": ["audit", "trained", "--nodes", "/dev/zero", "--out", "out"],
    "timeout": ["audit", "python {graph}", *DATA, "--timeout", "nan", "--out", "out"],
    "model escape": ["audit", inputs.ESCAPE, *DATA, "--out", "out"],
    "model module": ["audit", "nosuch.module:x", *DATA, "--out", "out"],
    "memory": ["store", "--edges", "e.csv", "--features", "t.parquet", "--sensitive", "sex",
               "--memory", "-1", "--out", "out"],
    "config device": ["run", "--config", "/dev/zero"],
    "config folder": ["run", "--config", "trained"],
    "report of nothing": ["report", "tmp"],
    "seeds": ["compare", "--datasets", *DATA, "--seeds", "0-99999999999999", "--out", "out"],
    "seeds escape": ["compare", "--datasets", *DATA, "--seeds", "\x1b", "--out", "out"],
    "methods": ["compare", "--datasets", *DATA, "--methods", "gear:" + "a=1," * 5000],
    "jobs": ["compare", "--datasets", *DATA, "--methods", "logistic", "--jobs", "9" * 50],
    "unknown command": [inputs.ESCAPE],
    "unknown flag": ["run", f"--{inputs.TURNED}"],
}  # fmt: skip


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each text in a file, each behind --set, each flag."""
    for name, text in inputs.YAML_TEXTS.items():
        yield Trial(f"--config: {name}", config(text))
    for number, text in enumerate(inputs.SETTINGS):
        yield Trial(f"--set: {number}, {text[:30]!r}", typed([*_RUN, f"--set={text}"]))
    for name, words in FLAGS.items():
        # The system does not say of which input a name is too long.
        statuses = (1, 2) if name.startswith("long name") else (2,)
        yield Trial(f"flag: {name}", typed(words, statuses))


def typed(words: list[str], statuses: tuple[int, ...] = (2,)) -> Work:
    """It is refused at once, and no folder is made."""

    def work(bench: Bench) -> str:
        verdict = bench.judged(bench.run(words, seconds=30), statuses=statuses)
        must(verdict == REFUSED, "accepted")
        must(not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work


def config(text: str) -> Work:
    """The same of a file of settings."""

    def work(bench: Bench) -> str:
        (bench.place / "settings.yaml").write_text(text)
        return typed([*_RUN, "--config", "settings.yaml"])(bench)

    return work

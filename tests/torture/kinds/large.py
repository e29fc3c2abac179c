"""Many people, many columns, and results on one thread and on two."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from tests.torture.program import Program
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, RESUMED, must, results

_TYPED = ["--label", "label", "--sensitive", "sex", "--device", "cpu", "--out", "out"]
_TWO = {name: "2" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each input, and numbers of threads."""
    yield Trial("20,000 scores without edges", _scores(20_000))
    yield Trial("20,000 people, 200,000 edges, two alone", _people(20_000, 200_000))
    for columns in (300, 3_000):
        yield Trial(f"{columns} columns", wide(columns))
    yield Trial("two threads after one", _threads())


def _scores(n: int) -> Work:
    def work(bench: Bench) -> str:
        draw = np.random.default_rng(0)
        people = pd.DataFrame({"id": range(n), "sex": draw.integers(0, 2, n)})
        people["label"] = draw.integers(0, 2, n)
        people.to_csv(bench.place / "many.csv", index=False)
        people.assign(score=draw.random(n).round(3))[["id", "score"]].to_csv(
            bench.place / "s.csv", index=False
        )
        ended = bench.run(["audit", "s.csv", "many.csv", *_TYPED], seconds=100)
        must(ended.status == 0, f"status {ended.status}: {ended.err[-200:]!r}")
        return bench.judged(ended)

    return work


def _people(n: int, edges: int) -> Work:
    def work(bench: Bench) -> str:
        draw = np.random.default_rng(0)
        table = pd.DataFrame(
            {"id": range(n), "sex": draw.integers(0, 2, n), "a": draw.random(n).round(3)}
        )
        table["label"] = (table["a"] + draw.random(n) > 1).astype(int)
        table.to_csv(bench.place / "many.csv", index=False)
        ends = draw.integers(0, n, (edges, 2))
        pd.DataFrame(ends[ends[:, 0] != ends[:, 1]], columns=["s", "t"]).to_csv(
            bench.place / "many.edges", index=False
        )
        words = ["audit", "trained_many:scores", "many.csv", "--edges", "many.edges", *_TYPED]
        words += ["--draws", "1", "--self-people", "2", "--no-other-causal-models"]
        words += ["--affected-people", "0", "--what-if-people", "0"]
        (bench.place / "trained_many.py").write_text(
            "def scores(graph):\n    return graph.x[:, -1].double().clamp(0, 1)\n"
        )
        ended = bench.run(words, seconds=200)
        must(ended.status == 0, f"status {ended.status}: {ended.err[-200:]!r}")
        return bench.judged(ended)

    return work


def wide(columns: int) -> Work:
    """A table with many columns and few people."""

    def work(bench: Bench) -> str:
        draw = np.random.default_rng(0)
        table = pd.DataFrame(draw.random((60, columns)).round(3)).add_prefix("c")
        table["sex"], table["label"] = np.arange(60) % 2, draw.integers(0, 2, 60)
        table.to_csv(bench.place / "wide.csv", index=False)
        words = [
            "run",
            "wide.csv",
            *_TYPED,
            "--similarity",
            "0.9",
            "--method",
            "logistic",
            "--quick",
        ]
        return bench.judged(bench.run(words, seconds=150))

    return work


def _threads() -> Work:
    """A run that goes on with other threads gives what it would have given, or says otherwise."""
    command = COMMANDS["run gear"]

    def work(bench: Bench) -> str:
        program = Program.executed(bench.place, command)
        for _ in range(600):
            if (bench.place / "out" / "model").exists() or (
                bench.place / "out" / "checkpoint"
            ).exists():
                break
            time.sleep(0.05)
        program.signal(signal.SIGKILL)
        bench.wait(program)
        ended = bench.wait(Program.executed(bench.place, command, _TWO))
        must(ended.status in (0, 2), f"status {ended.status}")
        if ended.status == 0 and "thread" not in ended.err:
            found = results(bench.place / "out")["audit.json"]
            must(
                found == bench.shared.expected("run gear")["audit.json"],
                "other results, and nothing said",
            )
        return RESUMED if ended.status == 0 else REFUSED

    return work

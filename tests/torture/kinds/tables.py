"""Tables, Parquet, edge lists and diagrams that are none; pipes and devices in their place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.hostile import inputs
from tests.torture.shared import DATA, FEW, STORE, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

_COLUMNS = ["--label", "label", "--sensitive", "sex"]
_END = ["--method", "logistic", "--device", "cpu", "--quick", "--out", "out"]
# What reads a table, and with which edges.
_TABLES: dict[str, list[str]] = {
    "run": ["run", "{}", *_COLUMNS, "--similarity", "0.5", *_END],
    "data": ["data", "{}", *_COLUMNS, "--similarity", "0.5"],
    "audit of scores": ["audit", "{}", *DATA, "--out", "out"],
}
# What takes a file: a table, edges, scores, a causal model, a list, settings.
FILES: dict[str, list[str]] = {
    ".csv": ["run", "{}", *_COLUMNS, "--similarity", "0.5", *_END],
    ".parquet": ["run", "{}", *_COLUMNS, "--similarity", "0.5", *_END],
    ".pt": ["run", "{}", *_COLUMNS, *_END],
    ".graphml": ["run", "{}", *_COLUMNS, *_END],
    ".edges": ["run", "p.csv", "--edges", "{}", *DATA[3:], *_END],
    ".tsv": ["audit", "{}", *DATA, "--out", "out"],
    ".yaml": ["audit", "trained", *FEW, "--causal", "{}", "--out", "out"],
    ".dot": ["audit", "trained", *FEW, "--causal", "{}", "--out", "out"],
    ".txt": ["audit", "trained", *FEW, "--nodes", "{}", "--out", "out"],
    ".yml": ["run", "--config", "{}", "--out", "out"],
    ".npy": ["store", "--edges", "{}", *STORE[3:], "--sensitive", "sex", "--out", "out"],
}  # fmt: skip
_READS_ON = ("a million lines of comments", "deep JSON in a cell", "5,000 digits")
_MUTATED = 30


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each input, by each way in."""
    for name, (ending, made) in inputs.TABLES.items():
        yield Trial(f"{name}: run", _read("run", f"x{ending}", made))
        yield Trial(f"{name}: {(other := seed.choice(['data', 'audit of scores']))}",
                    _read(other, f"x{ending}", made))  # fmt: skip
    for name, content in inputs.EDGE_LISTS.items():
        words = ["run", "p.csv", "--edges", "x.csv", *DATA[3:], *_END]
        yield Trial(f"edges: {name}", written(words, "x.csv", lambda c=content: c))  # type: ignore[misc]
    for name, text in inputs.DIAGRAMS.items():
        words = ["audit", "trained", *FEW, "--causal", name, "--out", "out"]
        yield Trial(f"diagram: {name}", written(words, name, lambda t=text: t.encode()))  # type: ignore[misc]
    for ending in FILES:
        for kind in ("folder", "pipe", "zero", "loop", "long"):
            yield Trial(f"{kind} in place of {ending}", no_file(kind, ending))
    for number in range(_MUTATED):
        yield Trial(f"bytes changed {number}", _mutated(number))


def _read(command: str, name: str, made: Callable[[], bytes]) -> Work:
    return written([word.format(name) for word in _TABLES[command]], name, made)


def written(words: list[str], name: str, made: Callable[[], bytes]) -> Work:
    """The file is read, or refused; a refusal leaves no folder."""

    def work(bench: Bench) -> str:
        (bench.place / name).write_bytes(made())
        lines = (0, 1) if words[0] == "data" else (1,)
        verdict = bench.judged(bench.run(words, seconds=60), lines=lines)
        if verdict == REFUSED:
            must(not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work


def no_file(kind: str, ending: str, seconds: float = 30) -> Work:
    """What is no regular file is refused at once."""

    def work(bench: Bench) -> str:
        folder = bench.place / "odd"
        folder.mkdir()
        path = inputs.no_files(folder, ending)[kind]
        words = [word.format(path) for word in FILES[ending]]
        ended = bench.run(words, seconds=seconds)
        must(ended.status, "accepted")
        must(not (bench.place / "out").exists(), "a folder was made")
        # The system does not say of which input a name is too long.
        return bench.judged(ended, statuses=(1, 2) if kind == "long" else (2,))

    return work


def _mutated(number: int) -> Work:
    """A good file with some bytes changed, put in or left out."""
    name = ("p.csv", "f.csv", "t.parquet", "scores.csv")[number % 4]
    words = {
        "p.csv": ["run", *DATA, *_END],
        "f.csv": ["run", *DATA, *_END],
        "t.parquet": ["run", "t.parquet", *DATA[3:], "--similarity", "0.7", *_END],
        "scores.csv": ["audit", "scores.csv", *DATA, "--out", "out"],
    }[name]

    def work(bench: Bench) -> str:
        content = bytearray((bench.place / name).read_bytes())
        for _ in range(bench.random.randint(1, 12)):
            at = bench.random.randrange(len(content))
            piece = bench.random.choice(
                [b"\0", b"\xff", b'"', b"\n", b",", b"9" * 400, b"\x1b", b"", b"-", b"e"]
            )
            content[at : at + bench.random.randint(0, 3)] = piece
        (bench.place / name).write_bytes(content)
        return bench.judged(bench.run(words, seconds=60))

    return work

"""JSON of wrong types, sizes and depths in the small files of runs, graphs and causal models."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairgear.auditing import Audit
from fairgear.auditing.exchange import read_manifest
from fairgear.causal import CausalModel, FittedCausalModel
from fairgear.graph import open_stored
from fairgear.graph.tables import Encoding
from fairgear.methods import load_model
from fairgear.tensor_files import read_tensors, write_tensors
from tests.graphs import random_graph
from tests.hostile import inputs
from tests.hostile.test_saved import changed
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work

# Of the many places and values of each file.
_EACH = 16
# The file, and what reads it.
FILES: dict[str, Callable[[Path], object]] = {
    "trained/model/model.json": lambda place: load_model(place / "trained/model"),
    "geared/model/model.json": lambda place: load_model(place / "geared/model"),
    "trained/model/encoding.json": lambda place: Encoding.of_folder(place / "trained/model"),
    "trained/audit.json": lambda place: Audit.load(place / "trained"),
    "stored/meta.json": lambda place: open_stored(place / "stored"),
    "exported/key.json": lambda place: read_manifest(place / "exported"),
}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Of each file some places with another value, and texts that are no documents."""
    for name in FILES:
        held = json.loads((shared.inputs / name).read_text())
        found = list(changed(held))
        for number in sorted(seed.sample(range(len(found)), _EACH)):
            where, new = found[number]
            said = ".".join(map(str, where))[:60]
            yield Trial(f"{name}: {number}, {said}", read_as(name, json.dumps(new)))
        for kind in seed.sample(list(inputs.JSON_TEXTS), 3):
            yield Trial(f"{name}: {kind}", read_as(name, inputs.JSON_TEXTS[kind]))
    yield from _headers(seed)
    for number in range(8):
        yield Trial(f"audit of a model whose documents differ {number}", _audited(number))


def read_as(name: str, text: str) -> Work:
    """It is read, or refused in one line."""

    def work(bench: Bench) -> str:
        (bench.place / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        return bench.judged(bench.call(lambda: FILES[name](bench.place), seconds=20))

    return work


def _headers(seed: random.Random) -> Iterator[Trial]:
    """The facts in the header of a causal model's tensors."""
    for number in range(20):

        def work(bench: Bench) -> str:
            path = bench.place / "causal.safetensors"
            ended = bench.call(lambda: _causal(path, bench.random))
            return bench.judged(ended)

        yield Trial(f"causal model: {number}", work)


def _causal(path: Path, draw: random.Random) -> None:
    features = draw.choice(["shift", "quantile", "gaussian", "sequential"])
    FittedCausalModel(features, "fixed").fit(random_graph()).save(path)
    tensors, facts = read_tensors(path)
    found = [new for _, new in changed(facts) if isinstance(new, dict)]
    write_tensors(path, tensors, draw.choice(found))
    CausalModel.load(path)


def _audited(number: int) -> Work:
    """The command, where one of the documents of its model differs."""

    def work(bench: Bench) -> str:
        name = bench.random.choice(["model.json", "encoding.json"])
        path = bench.place / "trained" / "model" / name
        found: list[Any] = [new for _, new in changed(json.loads(path.read_text()))]
        path.write_text(json.dumps(bench.random.choice(found)))
        ended = bench.run(COMMANDS["audit"])
        # The other value may be the one that was there.
        return bench.judged(ended, "audit")

    return work

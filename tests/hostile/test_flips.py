"""One byte of a saved file is another: the same results, or one line that names the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairgear.auditing import Audit
from fairgear.auditing.exchange import read_manifest
from fairgear.auditing.exchange.export import FOR_SCORING
from fairgear.cli import main
from fairgear.documents import json_of
from fairgear.egos import sharded
from fairgear.errors import FileError
from fairgear.files import json_text
from fairgear.graph import SensitiveGraph, open_stored
from fairgear.graph.stored import write_stored
from fairgear.graph.tables import ENCODING, Encoding
from fairgear.methods import load_model
from fairgear.runs.audit_config import settings_of_run
from fairgear.tensor_files import read_tensors, write_tensors
from tests.graphs import random_graph
from tests.hostile.faults import tiny_inputs, tiny_run

# Of each file all bytes at its beginning and end, where lengths and names are, and some between.
EDGE, BETWEEN = 64, 64


def flips(path: Path, share: int = 1) -> Iterator[str]:
    """The file with one byte after the other changed, by where; whole again at the end.

    With a `share`, one in so many of them.
    """
    whole = path.read_bytes()
    size = len(whole)
    places = {*range(min(EDGE, size)), *range(max(0, size - EDGE), size)}
    places |= set(range(0, size, max(1, size // BETWEEN)))
    try:
        for at in sorted(places)[::share]:
            # Digits become other digits, letters others, and what is neither no text.
            bit = (1, 2, 64, 128)[at % 4]
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            yield f"{path.name}, byte {at}, bit {bit}"
    finally:
        path.write_bytes(whole)


def harmless(path: Path, read: Callable[[], Any], *, named: str = "", share: int = 1) -> int:
    """Check every flip of a file; how many were refused."""
    expected, refused = read(), 0
    for where in flips(path, share):
        try:
            found = read()
        except FileError as error:
            line = str(error)
            if "\n" in line or (named or path.name) not in line:
                pytest.fail(f"{where}: {line}")
            refused += 1
            continue
        except Exception as error:
            pytest.fail(f"{where}: {error!r}")
        if not same(found, expected):
            pytest.fail(f"{where}: other results")
    assert same(read(), expected)
    return refused


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same, to the bit."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a table of one's own."""
    folder = tmp_path_factory.mktemp("flips")
    tiny_inputs(folder)
    assert tiny_run(folder, folder / "out")[0] == 0
    return folder / "out"


def answers(model: Path) -> Any:
    """All that a saved model is: its settings and its weights."""
    loaded = load_model(model, device="cpu")
    tensors, facts = loaded._state()
    weights = [(name, tensor.numpy()) for name, tensor in sorted(tensors.items())]
    return repr(loaded), loaded.threshold_, str(loaded.target_), json_text(facts), weights


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
def test_models(run: Path, name: str) -> None:
    model = run / "model"
    refused = harmless(model / name, lambda: answers(model), named=str(model))
    assert refused > 100


def test_encodings(run: Path) -> None:
    model = run / "model"

    def read() -> str:
        found = Encoding.of_folder(model)
        assert found is not None
        return found.text()

    assert harmless(model / ENCODING, read) > 100


@pytest.mark.parametrize("name", ["audit.json", "people.parquet", "SHA256SUMS"])
def test_results(run: Path, name: str) -> None:
    def read() -> tuple[str, str]:
        audit = Audit.load(run)
        return json_text(audit.to_dict()), audit.people.to_json()

    # What the list says of other files is not asked here.
    harmless(run / name, read, named=str(run))


def test_settings_of_a_finished_run(run: Path) -> None:
    assert harmless(run / "config.yaml", lambda: settings_of_run(str(run))) > 100


def test_a_damaged_result_is_made_again(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(run, out)
    whole = (out / "people.parquet").read_bytes()
    expected = Audit.load(out)
    (out / "people.parquet").write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    assert tiny_run(run.parent, out)[0] == 0
    assert (out / "people.parquet").read_bytes() == whole
    assert Audit.load(out).metrics == expected.metrics


def test_checkpoints_and_causal_models(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    write_tensors(path, {"w": random_graph().x}, {"key": "k", "next_step": 3})

    def read() -> Any:
        tensors, facts = read_tensors(path)
        # A field that no reader asks for says nothing.
        return tensors["w"].numpy(), {key: facts[key] for key in ("key", "next_step")}

    assert harmless(path, read) > 100


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    """A graph with names."""
    made = random_graph()
    return made.replace(node_names=tuple(f"p{i:03}" for i in range(len(made.x))))


def test_stored_graphs(graph: SensitiveGraph, tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    write_stored(graph, folder)

    def read() -> tuple[Any, ...]:
        found = open_stored(folder)
        return found.fingerprint(), tuple(found["node_names"]), found.name

    for path in sorted(folder.iterdir()):
        harmless(path, read, named=str(folder), share=5)


def test_egos(graph: SensitiveGraph, tmp_path: Path) -> None:
    def read() -> list[np.ndarray[Any, Any]]:
        found = sharded(graph, tmp_path, shard=40, k=5)
        return [each.numpy().copy() for each in (found.ids, found.mask, found.adjacency)]

    read()
    for path in sorted(file for file in tmp_path.rglob("*") if file.is_file()):
        whole = path.read_bytes()
        expected = read()
        for at in sorted({3, 9, 40, 70, *range(0, len(whole), max(1, len(whole) // 5))}):
            if at < len(whole):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
                # Damaged shards are built again.
                assert same(read(), expected), f"{path.name}, byte {at}"


def test_keys_of_exported_worlds(tmp_path: Path) -> None:
    out = tmp_path / "worlds"
    typed = ["audit", "export", "synthetic", "--self-people", "1", "--no-other-causal-models"]
    assert main([*typed, "--draws", "1", "--nodes", "test", "--out", str(out)]) == 0
    assert (out / FOR_SCORING).is_dir()
    refused = harmless(
        out / "key.json", lambda: json_text(read_manifest(out).to_dict()), named=str(out)
    )
    assert refused > 100
    assert json_of((out / "key.json").read_bytes())["sha256"]

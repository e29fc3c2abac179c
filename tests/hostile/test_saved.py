"""Saved models, causal models and stored graphs whose small files say something else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fairgear.causal import CausalModel, FittedCausalModel
from fairgear.documents import sealed, unsealed
from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph, TableColumns, open_stored
from fairgear.graph.read_graph import read_graph
from fairgear.graph.stored import write_stored
from fairgear.graph.tables import Encoding
from fairgear.methods import METHODS, load_model
from fairgear.methods.saved import write_saved
from fairgear.tensor_files import read_tensors, restoring, write_tensors
from tests.graphs import random_graph
from tests.hostile import inputs

# What replaces a value: of another type, beyond all bounds, or no value at all.
WRONG: tuple[Any, ...] = (None, True, -1, 10**12, 10**400, 0.5, "x", [[]], {"": 0})


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return random_graph()


def changed(held: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in a document, and the document with something else there."""
    for value in WRONG:
        yield (*at, "=", value), value
    if isinstance(held, dict | list):
        places = list(held) if isinstance(held, dict) else range(min(len(held), 2))
        for place in places:
            without = (
                {k: v for k, v in held.items() if k != place} if isinstance(held, dict) else []
            )
            yield (*at, place, "left out"), without
            for where, inner in changed(held[place], (*at, place)):
                new = held.copy()
                new[place] = inner
                yield where, new


def answers(read: Callable[[], Any], where: object) -> bool:
    """Whether it is read; otherwise the refusal is one line."""
    try:
        read()
    except FairgearError as error:
        if inputs.STEERING.search(str(error)):
            pytest.fail(f"{where}: {error!r}")
        return False
    except Exception as error:
        pytest.fail(f"{where}: {error!r}")
    return True


SMALL: dict[str, dict[str, Any]] = {
    "logistic": {},
    "boosting": {"trees": 2},
    "gear": {"steps": 2, "causal": "shift+quantile", "dim": 4},
}


@pytest.mark.parametrize("method", SMALL)
def test_models(method: str, graph: SensitiveGraph, tmp_path: Path) -> None:
    model = METHODS[method](seed=0, device="cpu", **SMALL[method])
    model.fit(graph).save(tmp_path)
    about, weights = tmp_path / "model.json", tmp_path / "weights.safetensors"
    text = about.read_text()
    tensors, facts = read_tensors(weights)
    for where, new in changed(json.loads(text)):
        if isinstance(new, dict):
            # With the hash of what somebody wrote into it.
            write_saved(tmp_path, new, tensors, dict(facts))
        else:
            about.write_text(json.dumps(new))
        answers(lambda: load_model(tmp_path), where)
    about.write_text(text)
    for where, new in changed(facts | {"history": {}} if method == "gear" else facts):
        if isinstance(new, dict):
            write_tensors(weights, tensors, new)
            answers(lambda: load_model(tmp_path), where)
    write_tensors(weights, tensors, facts)
    assert answers(lambda: load_model(tmp_path), "as it was")


@pytest.mark.parametrize("features", ["shift", "sequential"])
def test_causal_models(features: str, graph: SensitiveGraph, tmp_path: Path) -> None:
    path = tmp_path / "causal.safetensors"
    FittedCausalModel(features, "fixed").fit(graph).save(path)
    tensors, facts = read_tensors(path)
    for where, new in changed(facts):
        if isinstance(new, dict):
            write_tensors(path, tensors, new)
            answers(lambda: CausalModel.load(path), where)
    write_tensors(path, tensors, facts)
    assert answers(lambda: CausalModel.load(path), "as it was")


def test_stored_graphs(graph: SensitiveGraph, tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    write_stored(graph, folder)
    meta = folder / "meta.json"
    text = meta.read_text()
    for where, new in changed(json.loads(text)):
        meta.write_text(json.dumps(new))
        answers(lambda: open_stored(folder), where)
    meta.write_text(text)
    assert answers(lambda: open_stored(folder), "as it was")


def test_encodings(tmp_path: Path) -> None:
    people = inputs.table()
    people["job"] = ["a", "b", "c"] * 4
    people.to_csv(tmp_path / "p.csv", index=False)
    read = read_graph(tmp_path / "p.csv", TableColumns("sex", label="label", similarity=0.5))
    path = tmp_path / "encoding.json"
    read["encoding"].write(path)
    text = path.read_text()
    refusals = 0
    for where, new in changed(unsealed(json.loads(text))):
        path.write_text(json.dumps(sealed(new) if isinstance(new, dict) else new))
        refusals += not answers(lambda: Encoding.of_folder(tmp_path), where)
    assert refusals > 100
    path.write_text(text)
    assert answers(lambda: Encoding.of_folder(tmp_path), "as it was")


def test_what_a_header_claims_is_not_allocated(tmp_path: Path) -> None:
    held = {"w": torch.zeros(10)}
    for size in (10**8, 10**12, 10**30):
        with pytest.raises(FairgearError), restoring(tmp_path, held, {"a": [{"width": size}]}):
            torch.nn.Linear(size, 64)
    with restoring(tmp_path, held, {"width": 10**6}):
        torch.nn.Linear(100, 64)

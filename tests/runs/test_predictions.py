"""Representations and predictions are written as they are made, and are those made at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pyarrow import parquet
from torch import Tensor

from fairgear import SensitiveGraph, load_model
from fairgear.methods import METHODS, GearPaper, Method
from fairgear.methods.network_method import NetworkMethod
from fairgear.runs import predictions
from fairgear.runs.predictions import write_matrix, write_predictions, write_table
from tests.auditing.models import measure
from tests.graphs import random_graph

GRAPH = random_graph(n=60, edges=150)


@pytest.fixture(scope="module")
def gear() -> GearPaper:
    return GearPaper(dim=8, k=4, steps=5, generator={"steps": 5}, device="cpu").fit(GRAPH)


@pytest.fixture(scope="module")
def logistic() -> Method:
    return METHODS["logistic"]().fit(GRAPH)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many people each piece was of; everything is small enough to have many pieces."""
    seen: list[int] = []
    monkeypatch.setattr("fairgear.methods.ego_method._CHUNK", 16)
    monkeypatch.setattr(predictions, "CHUNK", 16)
    monkeypatch.setattr(predictions, "GROUP", 20)
    monkeypatch.setattr(predictions, "PREDICTION_GROUP", 20)
    for kind in (GearPaper, METHODS["logistic"]):
        if issubclass(kind, NetworkMethod):
            monkeypatch.setattr(kind, "chunks", _counting_chunks(kind, seen))
            continue
        for name in ("embed", "predict_proba"):
            monkeypatch.setattr(kind, name, _counting(getattr(kind, name), seen))
    return seen


def _counting(work: Any, seen: list[int]) -> Any:
    def counted(self: Any, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Any:
        seen.append(len(graph.x) if nodes is None else len(nodes))
        return work(self, graph, nodes=nodes)

    return counted


def _counting_chunks(kind: type[NetworkMethod], seen: list[int]) -> Any:
    work = kind.chunks

    def counted(
        self: Any, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        for z, logits in work(self, graph, nodes=nodes):
            seen.append(len(z))
            yield z, logits

    return counted


@pytest.mark.parametrize("name", ["gear", "logistic"])
def test_files_hold_what_embed_gives_and_nobody_asked_for_everybody(
    name: str, asked: list[int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model: Method = request.getfixturevalue(name)
    expected, scores = model.embed(GRAPH), model.predict_proba(GRAPH)[:, 1]
    asked.clear()
    width = expected.shape[1]
    assert write_matrix(model, GRAPH, tmp_path / "z.npy") == (60, width)
    assert write_table(model, GRAPH, tmp_path / "z.parquet") == (60, width)
    assert write_table(model, GRAPH, tmp_path / "s.parquet", scores=True) == (60, width)
    assert max(asked) <= 16
    assert len(asked) >= 12
    matrix = np.load(tmp_path / "z.npy")
    assert matrix.dtype == expected.dtype
    assert np.array_equal(matrix, expected)
    table = pd.read_parquet(tmp_path / "z.parquet")
    assert list(table.columns) == ["node_id", *(f"z{i}" for i in range(width))]
    assert table.node_id.tolist() == list(range(60))
    assert np.array_equal(table.iloc[:, 1:].to_numpy(), expected)
    with_scores = pd.read_parquet(tmp_path / "s.parquet")
    assert with_scores.score.to_numpy() == pytest.approx(scores, abs=1e-15)
    assert with_scores.drop(columns="score").equals(table)
    file = parquet.ParquetFile(tmp_path / "z.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(2)] == [32, 28]


def test_predictions_are_written_in_pieces_too(
    gear: GearPaper, asked: list[int], tmp_path: Path
) -> None:
    named = {"label_names": ("no", "yes"), "sens_names": ("f", "m")}
    # Nobody among the first people is labelled: their piece alone would not say what a name is.
    y = GRAPH.y.clone()
    y[:40] = -1
    graph = GRAPH.replace(y=y, **named)
    evaluation = measure(gear, graph, nodes=graph.y >= 0)
    asked.clear()
    write_predictions(tmp_path / "p.parquet", gear, graph, evaluation)
    assert max(asked) == 16
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert table.node_id.tolist() == list(range(60))
    assert table.score.tolist() == gear.predict_proba(graph)[:, 1].tolist()
    assert table.label.tolist() == gear.predict(graph).tolist()
    assert table.y_name.isna().tolist() == [True] * 40 + [False] * 20
    assert table.y_name[40:].tolist() == ["yes" if one else "no" for one in y[40:]]
    assert table.sens_name.tolist() == ["m" if one else "f" for one in GRAPH.sens]
    assert table.split[:3].tolist() == ["train", "val", "test"]
    measured = evaluation.people.set_index("node_id")
    beside = [
        name for name in measured.columns if name in table.columns and name.startswith("flip")
    ]
    assert beside
    for name in beside:
        assert table[name].isna()[:40].all()
        expected = measured[name].loc[list(range(40, 60))].astype(float).to_numpy()
        assert np.array_equal(table[name][40:].to_numpy(), expected, equal_nan=True)


def test_a_model_that_fails_half_way_leaves_no_file(
    gear: GearPaper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> Iterator[tuple[Tensor, Tensor]]:
        yield torch.zeros(3, 2), torch.zeros(3)
        raise KeyboardInterrupt

    monkeypatch.setattr(GearPaper, "chunks", failing)
    for write, out in ((write_matrix, "z.npy"), (write_table, "z.parquet")):
        with pytest.raises(KeyboardInterrupt):
            write(gear, GRAPH, tmp_path / out)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_was_saved_writes_the_same(gear: GearPaper, tmp_path: Path) -> None:
    gear.save(tmp_path / "model")
    write_matrix(load_model(tmp_path / "model", device="cpu"), GRAPH, tmp_path / "z.npy")
    assert np.array_equal(np.load(tmp_path / "z.npy"), gear.embed(GRAPH))

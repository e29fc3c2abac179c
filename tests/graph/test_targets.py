"""Labels of several classes and labels that are numbers: from tables to splits and files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph, from_pyg, from_tables, open_stored, split, write_stored
from fairgear.graph.tables import Encoding
from fairgear.graph.targets import BINARY, Target, strata

N = 60


def table(**changes: Any) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    people = {"age": rng.normal(size=N), "sex": ["f", "m"] * (N // 2)}
    return pd.DataFrame(people | changes)


def read(label: list[Any], **options: Any) -> SensitiveGraph:
    return from_tables(table(ok=label), sensitive="sex", label="ok", similarity=0.5, **options)


@pytest.mark.parametrize(
    ("label", "options", "kind", "classes"),
    [
        (["no", "yes"] * 30, {}, "binary", ("no", "yes")),
        ([2, 5] * 30, {}, "binary", ("2", "5")),
        (["b", "a", "c"] * 20, {}, "multiclass", ("a", "b", "c")),
        ([3.0, 10.0, 2.0] * 20, {}, "multiclass", ("2", "3", "10")),
        (list(range(N)), {}, "regression", ()),
        ([0, 1] * 30, {"task": "regression"}, "regression", ()),
        (list(range(12)) * 5, {"task": "classification"}, "multiclass", tuple(map(str, range(12)))),
    ],
)
def test_the_kind_of_a_label(
    label: list[Any], options: dict[str, Any], kind: str, classes: tuple[str, ...]
) -> None:
    target = read(label, **options).target
    assert (target.kind, target.classes) == (kind, classes)


def test_numbers_keep_their_values_and_gaps() -> None:
    label = [*np.linspace(-3, 4, N - 1), None]
    graph = read(label)
    assert graph.y.dtype == torch.float64
    assert bool(graph.y[-1].isnan())
    assert graph.y[:-1].tolist() == label[:-1]
    known = np.array(label[:-1], dtype=np.float64)
    assert graph.target.mean == pytest.approx(known.mean())
    assert graph.target.sd == pytest.approx(known.std())
    assert "label_names" not in graph


def test_two_classes_have_the_default_target() -> None:
    assert Target.of(torch.tensor([0, 1, -1])) == BINARY
    assert Target.of(torch.tensor([0, -1])) == BINARY


@pytest.mark.parametrize(
    ("label", "options", "said"),
    [
        ([f"name {i}" for i in range(N)], {"positive": "name 1"}, "--positive"),
        (list(range(N)), {"positive": 3}, "--positive"),
        ([*range(N - 1), np.inf], {}, "infinite"),
        (["a", "b"] * 30, {"task": "regression"}, "text, such as 'a', 'b'"),
        (["a", "b"] * 30, {"task": "ranking"}, "classification, regression"),
    ],
)
def test_refusals(label: list[Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(FairgearError) as error:
        read(label, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_refused_tensors() -> None:
    graph = read(list(range(N)))
    for y, said in (
        (torch.full((N,), 0.5), "float32"),
        (torch.full((N,), torch.inf, dtype=torch.float64), "infinite"),
        (torch.full((N,), 100), "the values 100"),
    ):
        with pytest.raises(FairgearError, match=said):
            graph.replace(y=y)
    with pytest.raises(FairgearError, match="classes from 0 to 2"):
        read(["a", "b", "c"] * 20).replace(y=torch.full((N,), 3))


def test_pyg_labels_of_several_classes_and_numbers() -> None:
    data = Data(
        x=torch.randn(N, 2, generator=torch.Generator().manual_seed(0)),
        edge_index=torch.stack([torch.arange(N - 1), torch.arange(1, N)]),
        sens=torch.arange(N) % 2,
    )
    data.y = torch.arange(N) % 4 - 1
    graph = from_pyg(data, sensitive="sens")
    assert graph.target.classes == ("0", "1", "2")
    assert graph.y.tolist() == data.y.tolist()
    data.y = torch.linspace(-1, 5, N, dtype=torch.float64)
    graph = from_pyg(data, sensitive="sens")
    assert graph.target.is_number
    assert torch.equal(graph.y, data.y)


def test_another_table_has_the_classes_of_the_training_table() -> None:
    graph = read(["a", "b", "c"] * 20)
    encoding: Encoding = graph["encoding"]
    from fairgear.graph.tables.columns import TableColumns
    from fairgear.graph.tables.table_graph import table_graph

    columns = TableColumns("sex", "ok", similarity=0.5)
    other = table_graph(table(ok=["c", "b"] * 30), None, columns, encoding=encoding)
    assert other.target == graph.target
    assert other.y.tolist() == [2, 1] * 30
    with pytest.raises(FairgearError, match="'d', which the model was not trained on"):
        table_graph(table(ok=["c", "d"] * 30), None, columns, encoding=encoding)
    numbers: Encoding = read(list(range(N)))["encoding"]
    few = table_graph(table(ok=[1, 2, 3] * 20), None, columns, encoding=numbers)
    assert few.target.is_number


@pytest.mark.parametrize("label", [["a", "b", "c"] * 20, list(range(N))])
def test_stored_graphs_keep_the_target(label: list[Any], tmp_path: Path) -> None:
    graph = read(label)
    write_stored(graph, tmp_path / "stored")
    found = open_stored(tmp_path / "stored", verify=True)
    assert found.target == graph.target
    assert torch.equal(found.y, graph.y)
    assert found["encoding"] is not None
    assert found["encoding"].task == graph["encoding"].task


def test_splits_have_the_same_share_of_every_class() -> None:
    y = torch.tensor([0] * 100 + [1] * 50 + [2] * 10 + [-1] * 5)
    n = len(y)
    sens = torch.arange(n) % 2
    graph = SensitiveGraph(torch.randn(n, 2), torch.zeros(2, 0, dtype=torch.int64), y, sens)
    parts = split(graph, seed=3)
    for key, share in (("train_mask", 0.6), ("val_mask", 0.2), ("test_mask", 0.2)):
        counts = torch.bincount(y[parts[key]], minlength=3)
        assert counts.tolist() == [round(share * of) for of in (100, 50, 10)]
    # Every third of the balanced training labels is of one class.
    balanced = split(graph, "released", seed=3, train_labels=15)
    assert torch.bincount(y[balanced.train_mask]).tolist() == [5, 5, 5]


def test_splits_of_numbers_are_alike() -> None:
    rng = np.random.default_rng(1)
    values = np.where(rng.random(200) < 0.1, np.nan, rng.exponential(size=200))
    part = strata(values)
    assert (part[np.isnan(values)] == -1).all()
    assert set(part) == {-1, *range(10)}
    # A tenth holds people between its neighbours' numbers.
    ends = [(values[part == one].min(), values[part == one].max()) for one in range(10)]
    assert all(high <= low for (_, high), (low, _) in itertools.pairwise(ends))
    y = torch.from_numpy(values)
    empty = torch.zeros(2, 0, dtype=torch.int64)
    graph = split(SensitiveGraph(torch.randn(200, 2), empty, y, torch.arange(200) % 2))
    for key in ("train_mask", "val_mask", "test_mask"):
        counts = np.bincount(part[graph[key].numpy()], minlength=10)
        assert counts.max() - counts.min() <= 1
        assert not y[graph[key]].isnan().any()

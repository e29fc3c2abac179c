from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing.exchange.graph_files import GraphFormat, graph_path, write_graph
from fairgear.graph import undirected_edges

AWKWARD = ["node_id", "sens", "sens_feature", 'a,"b"', "two\nlines", " ", "é;", "label"]


def awkward_graph(dtype: torch.dtype = torch.float32) -> SensitiveGraph:
    """Ids, names and numbers that text is likely to spoil."""
    bits = torch.arange(5 * 8, dtype=torch.int64) * 104_729_011 % (2**31 - 2**24)
    x = bits.to(torch.int32).view(torch.float32).reshape(5, 8)
    x[0, 2:6] = torch.tensor([1e-45, -0.0, 0.1, 3.3e38])
    sens = torch.tensor([0, 1, 1, 0, 1])
    return SensitiveGraph(
        x=x.to(dtype) / (3 if dtype == torch.float64 else 1),
        edge_index=undirected_edges(torch.tensor([[0, 4, 2], [1, 1, 3]]), 5),
        sens=sens,
        node_id=torch.tensor([7, -3, 2**62 + 1, 0, 2**53 + 1]),
        feature_names=AWKWARD,
        y=torch.tensor([1, 0, 1, 0, -1]),
    )


def read(path: Path, form: str, table: str) -> pd.DataFrame:
    if form == "parquet":
        return pd.read_parquet(path / f"{table}.parquet")
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    found: pd.DataFrame = pyarrow.csv.read_csv(
        path / f"{table}.csv", parse_options=options
    ).to_pandas()
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_hold_everything_exactly(
    tmp_path: Path, form: GraphFormat, dtype: torch.dtype
) -> None:
    graph = awkward_graph(dtype)
    path = graph_path(tmp_path, "a", form)
    write_graph(graph, path, form)
    assert sorted(file.name for file in path.iterdir()) == [f"edges.{form}", f"nodes.{form}"]
    nodes = read(path, form, "nodes")
    names = ["node_id_feature", "sens_feature_feature", *AWKWARD[2:]]
    assert nodes.columns.tolist() == ["node_id", "sens", *names]
    np.testing.assert_array_equal(nodes["node_id"], graph.node_id.numpy())
    np.testing.assert_array_equal(nodes["sens"], graph.sens.numpy())
    kind = np.float64 if dtype == torch.float64 else np.float32
    before = graph.x.to(torch.float64).numpy().astype(kind)
    after = nodes[names].to_numpy().astype(kind)
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(np.signbit(after), np.signbit(before))
    edges = read(path, form, "edges")
    assert edges.columns.tolist() == ["source", "target"]
    found = {frozenset(pair) for pair in edges.to_numpy().tolist()}
    assert found == {frozenset((7, -3)), frozenset((2**53 + 1, -3)), frozenset((2**62 + 1, 0))}
    assert len(edges) == 3


def test_arrays(tmp_path: Path) -> None:
    graph = awkward_graph()
    path = graph_path(tmp_path, "a.b", "npz")
    assert path.name == "a.b.npz"
    write_graph(graph, path, "npz")
    assert [file.name for file in tmp_path.iterdir()] == ["a.b.npz"]
    with np.load(path) as found:
        assert sorted(found) == ["edge_index", "node_id", "sens", "x"]
        for key in found:
            np.testing.assert_array_equal(found[key], graph[key].numpy())
            assert found[key].dtype == graph[key].numpy().dtype


def test_a_graph_without_edges(tmp_path: Path) -> None:
    graph = awkward_graph()
    bare = graph.replace(edge_index=graph.edge_index[:, :0])
    write_graph(bare, tmp_path / "a", "csv")
    assert (tmp_path / "a" / "edges.csv").read_text() == '"source","target"\n'


def test_twenty_thousand_people_take_a_moment(tmp_path: Path) -> None:
    n, m = 20_000, 320_000
    generator = torch.Generator().manual_seed(0)
    graph = SensitiveGraph(
        x=torch.randn(n, 20, generator=generator),
        edge_index=undirected_edges(torch.randint(n, (2, m), generator=generator), n),
        sens=torch.randint(2, (n,), generator=generator),
    )
    started = time.process_time()
    write_graph(graph, tmp_path / "a", "csv")
    # About half a second here; with a Python loop it is ten times that.
    assert time.process_time() - started < 5


@pytest.mark.parametrize("form", ["csv", "parquet", "npz"])
def test_people_have_their_names(tmp_path: Path, form: GraphFormat) -> None:
    # Names are found by node_id, whatever the order of the rows.
    graph = awkward_graph().replace(
        node_id=torch.tensor([2, 0, 1, 4, 3]), feature_names=["node_name", *AWKWARD[1:]]
    )
    graph["node_names"] = ("Ann", 'Bo "X", jr', "007", "NA", "Di\nda")
    names = ["007", "Ann", 'Bo "X", jr', "Di\nda", "NA"]
    path = graph_path(tmp_path, "a", form)
    write_graph(graph, path, form)
    if form == "npz":
        with np.load(path, allow_pickle=False) as found:
            assert sorted(found) == ["edge_index", "node_id", "node_name", "sens", "x"]
            assert found["node_name"].tolist() == names
        return
    if form == "csv":
        nodes = pd.read_csv(path / "nodes.csv", dtype={"node_name": str}, keep_default_na=False)
    else:
        nodes = pd.read_parquet(path / "nodes.parquet")
    assert nodes.columns.tolist()[:5] == [
        "node_id",
        "node_name",
        "sens",
        "node_name_feature",
        "sens_feature_feature",
    ]
    assert nodes["node_id"].tolist() == [2, 0, 1, 4, 3]
    assert nodes["node_name"].tolist() == names

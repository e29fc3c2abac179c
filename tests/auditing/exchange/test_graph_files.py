from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing.exchange.graph_files import (
    GraphFormat,
    graph_path,
    rounding_note,
    write_graph,
)
from fairgear.auditing.worlds import Worlds
from fairgear.graph import from_tables, undirected_edges
from fairgear.graph.tables import OriginalColumns

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


PEOPLE = "examples/people.csv"
FRIENDS = pd.DataFrame({"a": ["P0001", "P0002", "P0003"], "b": ["P0002", "P0003", "P0009"]})


@pytest.mark.parametrize("joined", ["edges", "similarity", "standardized"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_comes_back_as_it_was(tmp_path: Path, form: GraphFormat, joined: str) -> None:
    table = pd.read_csv(PEOPLE)
    # A code that is a number, and money with cents.
    table["branch"] = [7 + 3 * (row % 3) for row in range(len(table))]
    table["rent"] = [round(0.37 * row * row, 2) for row in range(len(table))]
    options: dict[str, object] = {
        "label": "approved",
        "sensitive": "sex",
        "categorical": ["branch"],
    }
    if joined == "edges":
        graph = from_tables(table, FRIENDS, **options)  # type: ignore[arg-type]  # by name
    else:
        options |= {"similarity": 0.7, "standardize": joined == "standardized"}
        graph = from_tables(table, **options)  # type: ignore[arg-type]  # by name
    path = graph_path(tmp_path, "a", form)
    write_graph(graph, path, form)
    nodes = read(path, form, "nodes")
    assert set(nodes) == {*table, "node_id", "node_name"} - {"id", "approved"}
    assert nodes.pop("node_name").tolist() == table["id"].tolist()
    assert nodes.pop("node_id").tolist() == list(range(len(table)))
    if form == "parquet":
        # Truth values are words to fairgear, and the only ones that stay so.
        table["owner"] = table["owner"].astype(str)
    for name in nodes:
        assert nodes[name].tolist() == table[name].tolist(), name
        assert nodes[name].dtype.kind == table[name].dtype.kind, name


def test_several_attributes_and_a_number_are_as_in_the_table(tmp_path: Path) -> None:
    table = pd.read_csv("examples/applicants.csv")
    friends = pd.read_csv("examples/colleagues.csv").iloc[:, :2]
    for sensitive in ("race,sex", "age"):
        graph = from_tables(table, friends, label="approved", sensitive=sensitive, missing="impute")
        write_graph(graph, tmp_path / sensitive, "csv")
        nodes = pd.read_csv(tmp_path / sensitive / "nodes.csv")
        for name in set(nodes) & set(table):
            told = table[name].notna()
            assert nodes[name][told].tolist() == table[name][told].tolist(), name
        assert set(sensitive.split(",")) <= set(nodes)


def test_other_worlds_have_people_who_could_exist(tmp_path: Path) -> None:
    table = pd.read_csv(PEOPLE)
    graph = from_tables(table, FRIENDS, label="approved", sensitive="sex")
    worlds = Worlds(graph, draws=1)
    columns = OriginalColumns.of(graph)
    for rate, (world,) in worlds.strict.items():
        write_graph(world.graph, tmp_path / str(rate), "csv", columns)
        nodes = pd.read_csv(tmp_path / str(rate) / "nodes.csv")
        for name in ("job", "city", "owner"):
            assert set(nodes[name]) <= set(table[name])
        for name in ("age", "income", "debt"):
            assert nodes[name].dtype == np.int64
            assert nodes[name].between(table[name].min(), table[name].max()).all()
    assert set(nodes["sex"]) == {"male"}
    assert (nodes["income"] != table["income"]).any()


def test_rounding_is_said_where_there_is_any() -> None:
    table = pd.read_csv(PEOPLE)
    graph = from_tables(table, FRIENDS, label="approved", sensitive="sex")
    worlds = Worlds(graph, draws=1)
    said = rounding_note(worlds, "csv")
    assert "In other worlds, 'age', 'income', 'debt' were rounded to values" in said
    # Arrays hold features as they are, and so do graphs that never were a table.
    assert rounding_note(worlds, "npz") == ""
    assert rounding_note(Worlds(awkward_graph(torch.float64), draws=1), "csv") == ""
    words = table[["id", "sex", "job", "city", "approved"]]
    graph = from_tables(words, FRIENDS, label="approved", sensitive="sex")
    assert rounding_note(Worlds(graph, draws=1), "parquet") == ""


def test_codes_of_one_world_are_numbers_in_all(tmp_path: Path) -> None:
    """A column must not be of another kind where only some of its values occur."""
    table = pd.DataFrame({"sex": list("fmfmfm"), "level": list("123ab3"), "age": range(6)})
    graph = from_tables(table, pd.DataFrame({"a": [0], "b": [1]}), sensitive="sex")
    some = graph.replace(x=graph.x[[0, 1, 2, 0, 1, 2]], sens_column=None, mechanism=None)
    write_graph(some, tmp_path / "a", "parquet", OriginalColumns.of(graph))
    nodes = pd.read_parquet(tmp_path / "a" / "nodes.parquet")
    assert nodes["level"].tolist() == list("123123")

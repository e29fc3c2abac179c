"""Directed and weighted edges from every source."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from fairgear import SensitiveGraph
from fairgear.errors import FairgearError
from fairgear.graph import (
    TableColumns,
    build_stored,
    from_networkx,
    from_pyg,
    from_scipy,
    from_tables,
    open_stored,
    read_graph,
)

PEOPLE = pd.DataFrame({"id": list("abcd"), "sex": [0, 1, 0, 1], "age": [3.0, 1.0, 4.0, 1.5]})
LIST = pd.DataFrame(
    [["a", "b", 2.0], ["b", "a", 0.5], ["a", "c", 1.0], ["a", "b", 9.0], ["d", "d", 1.0]],
    columns=["from", "to", "trust"],
)
ARCS = {(0, 1): 2.0, (1, 0): 0.5, (0, 2): 1.0}


def arcs_of(graph: SensitiveGraph) -> dict[tuple[int, int], float]:
    """The arcs of a graph by row."""
    assert graph.directed
    assert graph.edge_weight is not None
    pairs = graph.edge_index.T.tolist()
    return {(a, b): w for (a, b), w in zip(pairs, graph.edge_weight.tolist(), strict=True)}


def test_a_table_of_arcs(capsys: pytest.CaptureFixture[str]) -> None:
    graph = from_tables(PEOPLE, LIST, sensitive="sex", directed=True, weight="trust")
    assert arcs_of(graph) == ARCS
    said = capsys.readouterr().err
    assert "dropped 1 self-loops and 1 repeats" in said
    assert "1 are listed again with another weight; the first counts" in said
    assert "edges: 3, directed, from the first end to the second, with weights" in said


def test_weights_without_directions(capsys: pytest.CaptureFixture[str]) -> None:
    graph = from_tables(PEOPLE, LIST, sensitive="sex", weight="trust")
    assert not graph.directed
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [2, 1, 2, 1]
    # Neither b–a nor the second a–b has the weight of the first.
    assert "2 are listed again with another weight" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "parquet"])
def test_files_of_arcs(tmp_path: Path, ending: str) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / f"list.{ending}"
    if ending == "parquet":
        LIST.to_parquet(path)
    else:
        LIST.to_csv(path, sep={"csv": ",", "tsv": "\t", "txt": " "}[ending], index=False)
    columns = TableColumns("sex", directed=True, weight="trust")
    assert arcs_of(read_graph(tmp_path / "people.csv", columns, path)) == ARCS


def network(kind: type[nx.Graph]) -> nx.Graph:
    """The people as a network; b–a is listed after a–b."""
    graph = kind()
    for _, row in PEOPLE.iterrows():
        graph.add_node(row["id"], sex=int(row["sex"]), age=float(row["age"]))
    graph.add_weighted_edges_from(LIST.iloc[:3].itertuples(index=False), weight="trust")
    return graph


def test_networks_say_whether_they_are_directed(tmp_path: Path) -> None:
    graph = from_networkx(network(nx.DiGraph), sensitive="sex", weight="trust")
    assert arcs_of(graph) == ARCS
    nx.write_graphml(network(nx.DiGraph), tmp_path / "p.graphml")
    again = read_graph(tmp_path / "p.graphml", TableColumns("sex", weight="trust"))
    assert arcs_of(again) == ARCS
    assert not from_networkx(network(nx.Graph), sensitive="sex", weight="trust").directed
    plain = from_networkx(network(nx.DiGraph), sensitive="sex", directed=False)
    assert plain.plain
    assert plain.num_undirected_edges == 2


def test_arcs_of_pyg() -> None:
    data = Data(
        x=torch.tensor(PEOPLE[["sex", "age"]].to_numpy()),
        edge_index=torch.tensor(list(ARCS)).T,
        trust=torch.tensor(list(ARCS.values())),
    )
    # 0 → 2 has no twin, and 0 → 1 has one.
    assert arcs_of(from_pyg(data, sensitive="x0", weight="trust")) == ARCS
    assert from_pyg(data, sensitive="x0", directed=False).plain
    # Each edge once: whether these are directed cannot be told.
    data.edge_index, data.trust = data.edge_index[:, [0, 2]], data.trust[[0, 2]]
    assert not from_pyg(data, sensitive="x0", weight="trust").directed
    assert from_pyg(data, sensitive="x0", directed=True).directed


def test_arcs_of_a_matrix() -> None:
    (row, column), entries = np.array(list(ARCS)).T, list(ARCS.values())
    matrix = sparse.coo_array((entries, (row, column)), shape=(4, 4))
    graph = from_scipy(matrix, PEOPLE, sensitive="sex", directed=True, weight="entries")
    assert arcs_of(graph) == ARCS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": "love"}, "--weight: got 'love'.*trust"),
        ({"weight": "from"}, "--weight: got 'from'"),
        ({"similarity": 0.5, "weight": "trust"}, "neither directions nor weights"),
        ({"similarity": 0.5, "directed": True}, "neither directions nor weights"),
        ({"directed": "yes"}, "True, False or None"),
    ],
)
def test_what_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(FairgearError, match=message) as caught:
        from_tables(PEOPLE, LIST, **{"sensitive": "sex", **change})  # type: ignore[arg-type]  # by name
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf, "much"])
def test_wrong_weights_are_refused(wrong: float | str) -> None:
    table = LIST.assign(trust=[2.0, wrong, 1.0, 9.0, 1.0])
    with pytest.raises(FairgearError, match=r"'trust'.*1 that are not.*of edge 2"):
        from_tables(PEOPLE, table, sensitive="sex", weight="trust")


def test_weights_need_a_line_of_names(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "e.csv").write_text("a,b,2\nb,c,3\n")
    with pytest.raises(FairgearError, match="without names of its columns"):
        read_graph(
            tmp_path / "p.csv", TableColumns(sensitive="sex", weight="2"), tmp_path / "e.csv"
        )


def test_arcs_that_are_stored(tmp_path: Path) -> None:
    people = PEOPLE.assign(id=[10, 11, 12, 13])
    people.to_parquet(tmp_path / "people.parquet")
    arcs = [(10, 11), (11, 10), (10, 12), (10, 11), (13, 13)]
    pd.DataFrame(arcs, columns=["a", "b"]).to_csv(tmp_path / "list.csv", index=False)
    files = (tmp_path / "list.csv", tmp_path / "people.parquet")
    meta = build_stored(tmp_path / "out", *files, TableColumns("sex", directed=True))
    graph = open_stored(tmp_path / "out", verify=True)
    assert graph.directed
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert meta["edges"] == 3
    with pytest.raises(FairgearError, match="no weights in fairgear store"):
        build_stored(tmp_path / "other", *files, TableColumns("sex", weight="w"))

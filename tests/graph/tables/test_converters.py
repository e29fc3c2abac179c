"""The same people from every source are the same graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.errors import FairgearError
from fairgear.graph import (
    TableColumns,
    from_networkx,
    from_pyg,
    from_scipy,
    from_tables,
    read_graph,
)
from fairgear.graph.tables.converters import data_graph
from tests.graph.people import (
    FRIENDS,
    PEOPLE,
    adjacency,
    friends,
    network,
    nx,
    people,
    pyg_data,
    records,
    tiny,
)

COLUMNS = TableColumns(label="approved", sensitive="sex")


@pytest.fixture(scope="module")
def whole() -> SensitiveGraph:
    return read_graph(PEOPLE, COLUMNS, FRIENDS)


def same(graph: SensitiveGraph, whole: SensitiveGraph) -> None:
    assert graph.fingerprint() == whole.fingerprint()
    assert graph.feature_names == whole.feature_names
    assert graph.node_names == whole.node_names
    assert graph.sens_column == whole.sens_column


def test_what_the_graph_is(whole: SensitiveGraph) -> None:
    table, list_ = people(), friends()
    assert whole.name == "people"
    assert len(whole.x) == len(table)
    assert whole.num_undirected_edges == len(list_)
    assert whole.sens_names == ("female", "male")
    assert whole.label_names == ("no", "yes")
    assert whole.sens.tolist() == (table.sex == "male").astype(int).tolist()
    assert whole.y.tolist() == (table.approved == "yes").astype(int).tolist()
    assert [whole.node_names[i] for i in whole.node_id] == table.id.tolist()
    joined = {
        frozenset((whole.node_names[a], whole.node_names[b]))
        for a, b in whole.edge_index.T.tolist()
    }
    assert joined == {frozenset(pair) for pair in list_.itertuples(index=False, name=None)}
    income = whole.x[:, whole.feature_names.index("income")]
    assert (float(income.min()), float(income.max())) == (-1, 1)
    assert whole.feature_names[-1] == "sex"
    assert torch.equal(whole.x[:, -1], whole.sens.float())
    assert "approved" not in "".join(whole.feature_names)
    assert whole.mechanism is None


def test_tables_in_memory_and_in_files(whole: SensitiveGraph, tmp_path: Path) -> None:
    table, list_ = people(), friends()
    same(from_tables(table, list_, label="approved", sensitive="sex"), whole)
    indexed = table.set_index("id")
    same(
        from_tables(indexed[[*table.columns[1:]]], list_, label="approved", sensitive="sex"), whole
    )
    table.to_csv(tmp_path / "p.tsv", sep="\t", index=False)
    list_.to_csv(tmp_path / "e.tsv", sep="\t", index=False, header=False)
    same(read_graph(tmp_path / "p.tsv", COLUMNS, tmp_path / "e.tsv"), whole)
    table.to_csv(tmp_path / "p.csv", sep=";", encoding="utf-8-sig")
    list_.to_csv(tmp_path / "e.txt", sep=" ", index=False, header=False)
    same(read_graph(tmp_path / "p.csv", COLUMNS, tmp_path / "e.txt"), whole)
    table.astype({"job": "category"}).to_parquet(tmp_path / "p.parquet")
    list_.to_parquet(tmp_path / "e.parquet")
    same(read_graph(tmp_path / "p.parquet", COLUMNS, tmp_path / "e.parquet"), whole)


def test_networks_in_memory_and_in_files(whole: SensitiveGraph, tmp_path: Path) -> None:
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph):
        graph = network(kind)
        directed = False if kind is nx.DiGraph else None
        same(from_networkx(graph, label="approved", sensitive="sex", directed=directed), whole)
        nx.write_graphml(graph, tmp_path / "p.graphml")
        same(read_graph(tmp_path / "p.graphml", replace(COLUMNS, directed=directed)), whole)


def test_sparse_matrices(whole: SensitiveGraph) -> None:
    one_way = adjacency()
    for matrix in (one_way, one_way + one_way.T, one_way.tocoo(), one_way.tocsc()):
        same(from_scipy(matrix, people(), label="approved", sensitive="sex"), whole)


def test_pyg_in_memory_and_in_files(whole: SensitiveGraph, tmp_path: Path) -> None:
    data = pyg_data()
    same(from_pyg(data, sensitive="sex", id="person"), whole)
    same(from_pyg(data, sensitive="sens", id="person"), whole)
    columns = TableColumns(label="y", sensitive="sex", id="person")
    for content in (data, data.to_dict()):
        torch.save(content, tmp_path / "p.pt")
        same(read_graph(tmp_path / "p.pt", columns), whole)


def test_pyg_keeps_masks_unknown_labels_and_ids() -> None:
    data = pyg_data()
    data.y[:7] = -1
    data.train_mask = torch.arange(400) < 100
    data.node_id = torch.arange(400) + 2**60
    del data.feature_names
    graph = from_pyg(data, sensitive="x13", drop=["x0"])
    assert graph.y[:8].tolist() == [-1] * 7 + [int(data.y[7])]
    assert torch.equal(graph.train_mask, data.train_mask)
    assert torch.equal(graph.node_id, data.node_id)
    assert graph.feature_names == [f"x{i}" for i in range(1, 14)]
    data.y = torch.where(data.y == 0, -1, 1)
    assert set(from_pyg(data, sensitive="x13").y.tolist()) == {0, 1}


def test_one_group_alone_is_read_as_the_training_was() -> None:
    data = pyg_data()
    data.x[:, 0] = 1
    data.x[0, 0] = 2
    whole = from_pyg(data, sensitive="sens")
    men = data.subgraph(data.sens == 1)
    men.person = None
    columns = TableColumns(sensitive="sens")
    graph = data_graph(men, columns, whole.encoding)
    # All of them are 1 in the first column too, which is not the sensitive one for that.
    assert graph.sens_column == whole.sens_column
    assert torch.equal(graph.x, whole.x[data.sens == 1])


def test_a_sensitive_attribute_beside_x_joins_the_features() -> None:
    data = pyg_data()
    data.x, data.feature_names = data.x[:, :-1], data.feature_names[:-1]
    graph = from_pyg(data, sensitive="sens")
    assert graph.feature_names[-1] == "sens"
    assert graph.sens_column == 13


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": None}, "no matrix x"),
        ({"sens": torch.zeros(3)}, "one value a node"),
        ({"edge_index": torch.tensor([[0], [400]])}, "from 0 to 399"),
        ({"edge_index": torch.zeros(5, 2, dtype=torch.int64)}, "shape (5, 2)"),
        ({"edge_index": None}, "neither edges nor a similarity"),
    ],
)
def test_pyg_data_that_are_no_graph(change: dict[str, object], said: str) -> None:
    data = pyg_data()
    for key, value in change.items():
        setattr(data, key, value)
    with pytest.raises(FairgearError) as error:
        from_pyg(data, sensitive="sens" if "sens" in change else "sex")
    assert said in str(error.value)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_ids_that_a_short_float_has_rounded_are_refused(kind: torch.dtype) -> None:
    data = pyg_data()
    data.x, data.feature_names = data.x[:, :4].to(kind), ["a", "b", "c", "id"]
    first_rounded = 2 / torch.finfo(kind).eps
    data.x[:, 3] = torch.arange(400)
    data.x[0, 3] = first_rounded + 1
    with pytest.raises(FairgearError, match="whose last digits are lost"):
        from_pyg(data, sensitive="sens")
    data.node_id, data.feature_names = data.x[:, 3], ["a", "b", "c", "d"]
    with pytest.raises(FairgearError, match="whose last digits are lost"):
        from_pyg(data, sensitive="sens")


def test_what_pyg_and_scipy_hold_in_another_layout_is_refused() -> None:
    data = pyg_data()
    data.x = data.x.to_sparse()
    with pytest.raises(FairgearError, match="a sparse matrix"):
        from_pyg(data, sensitive="sens")
    with pytest.raises(FairgearError, match="adjacency: got a ndarray"):
        from_scipy(adjacency().toarray(), people(), label="approved", sensitive="sex")
    data = pyg_data()
    data.y = [[1], [0]] * 200
    with pytest.raises(FairgearError, match="'y': got lists"):
        from_pyg(data, sensitive="sens")


def test_a_matrix_of_other_people_is_refused() -> None:
    with pytest.raises(FairgearError, match=r"\(400, 400\)"):
        from_scipy(adjacency(), people()[:100], label="approved", sensitive="sex")


def test_explicit_zeros_are_no_edges() -> None:
    matrix = adjacency()
    matrix.data[:10] = 0
    graph = from_scipy(matrix, people(), label="approved", sensitive="sex")
    assert graph.num_undirected_edges == len(friends()) - 10


def test_similarity_is_that_of_the_raw_columns_or_of_the_standardized_ones() -> None:
    table = people()
    columns = replace(COLUMNS, similarity=0.7)
    raw = read_graph(PEOPLE, columns)
    assert raw.mechanism.rule.threshold == 0.7
    assert raw.raw is not None
    assert raw.raw[:, 1].tolist() == table.income.tolist()
    assert raw.raw[:, -1].tolist() == raw.sens.tolist()
    assert torch.equal(raw.edge_index, raw.mechanism.rule.edges(raw.raw.numpy()))
    alike = read_graph(PEOPLE, replace(columns, standardize=True))
    assert alike.raw is not None
    assert alike.raw[:, :-1].mean(dim=0).abs().max() < 1e-12
    assert alike.raw[:, :-1].std(dim=0, correction=0).sub(1).abs().max() < 1e-12
    assert torch.equal(alike.raw[:, -1], raw.raw[:, -1])
    assert alike.num_undirected_edges != raw.num_undirected_edges
    assert torch.allclose(alike.x, raw.x, atol=1e-6)


def test_networks_with_gaps_and_tuples_as_keys() -> None:
    graph = nx.Graph()
    for number, row in enumerate(records(tiny(code=range(8)))):
        graph.add_node((number, "a"), **row)
    graph.add_edge((0, "a"), (1, "a"))
    del graph.nodes[(3, "a")]["code"], graph.nodes[(4, "a")]["ok"]
    made = from_networkx(graph, label="ok", sensitive="sex", missing="impute")
    assert made.node_names[0] == "(0, 'a')"
    assert made.y[4] == -1
    assert made.feature_names == ["age", "sex", "code"]
    with pytest.raises(FairgearError, match=r"code \(1\)"):
        from_networkx(graph, label="ok", sensitive="sex")


def test_long_ids_beside_a_gap_are_not_rounded() -> None:
    graph = nx.Graph()
    for number, row in enumerate(records(tiny())):
        graph.add_node(number, **row, key=2**60 + number)
    graph.add_edge(0, 1)
    made = from_networkx(graph, label="ok", sensitive="sex", id="key")
    assert made.node_id.tolist() == [2**60 + number for number in range(8)]
    graph.nodes[3]["key"] = None
    with pytest.raises(FairgearError, match="1 rows without an id"):
        from_networkx(graph, label="ok", sensitive="sex", id="key")


def test_a_network_without_edges_can_be_joined_by_similarity() -> None:
    graph = nx.create_empty_copy(network())
    made = from_networkx(graph, label="approved", sensitive="sex", similarity=0.7)
    assert made.num_undirected_edges > 0
    with pytest.raises(FairgearError, match="both edges and a similarity"):
        from_networkx(network(), label="approved", sensitive="sex", similarity=0.7)


def test_the_examples_are_what_their_script_makes(tmp_path: Path) -> None:
    script = PEOPLE.with_name("make_people.py")
    (tmp_path / script.name).write_text(script.read_text())
    code = compile(script.read_text(), tmp_path / script.name, "exec")
    exec(code, {"__name__": "__main__", "__file__": str(tmp_path / script.name)})
    for path in (PEOPLE, FRIENDS):
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / path.name), pd.read_csv(path))

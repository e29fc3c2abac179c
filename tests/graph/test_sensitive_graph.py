from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from fairgear import SensitiveGraph
from fairgear.errors import FairgearError, GraphError
from fairgear.graph import closed_neighborhood_mean, undirected_edges
from tests.graphs import random_graph

TRIANGLE = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])


def triangle(**changes: Any) -> SensitiveGraph:
    fields: dict[str, Any] = {
        "x": torch.tensor([[0.5, 0.0], [1.5, 1.0], [2.5, 0.0]]),
        "edge_index": TRIANGLE,
        "y": torch.tensor([0, 1, -1]),
        "sens": torch.tensor([0, 1, 0]),
        "sens_column": 1,
    }
    return SensitiveGraph(**(fields | changes))


def test_keeps_what_it_is_given_and_fills_in_the_rest() -> None:
    graph = triangle()
    assert graph.node_id.tolist() == [0, 1, 2]
    assert graph.feature_names == ["x0", "x1"]
    assert graph.num_undirected_edges == 3
    assert not graph.train_mask.any()
    assert not graph.test_mask.any()
    assert triangle(y=None).y.tolist() == [-1, -1, -1]


NAN = torch.tensor([[0.5, 0.0], [float("nan"), 1.0], [2.5, 0.0]])
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"x": NAN}, "NaN or infinite values, the first at node 1, column 0"),
    ({"x": NAN.nan_to_num(float("inf"))}, "NaN or infinite"),
    ({"x": torch.zeros(3, 2, dtype=torch.int64)}, "floating-point matrix"),
    ({"x": torch.zeros(0, 2)}, "at least one node"),
    ({"edge_index": torch.tensor([[0, 3], [3, 0]])}, "got node 3; allowed: 0 to 2"),
    ({"edge_index": torch.tensor([[0, -1], [-1, 0]])}, "got node -1"),
    ({"edge_index": TRIANGLE.t()}, "looks transposed"),
    ({"edge_index": TRIANGLE.float()}, "int64 of shape"),
    ({"edge_index": TRIANGLE.t().reshape(2, 6)}, "self-loops"),
    ({"edge_index": torch.tensor([[0, 1, 1], [1, 0, 2]])}, "1 edges without their twin, .* 1→2"),
    ({"edge_index": torch.tensor([[0, 1, 1], [1, 0, 1]])}, "1 self-loops"),
    ({"edge_index": torch.cat([TRIANGLE, TRIANGLE], 1)}, "repeated edges"),
    ({"sens": torch.tensor([0, 2, 0])}, "declared binary: got the values 2"),
    ({"sens": torch.tensor([0.0, 1.0, 0.0])}, "int64 of shape"),
    ({"sens": torch.tensor([0, 1])}, r"shape \(3,\)"),
    ({"sens": torch.tensor([1, 1, 0])}, "1 values that differ from sens"),
    ({"sens_column": 2}, "allowed: 0 to 1"),
    ({"sens_kind": "ordinal"}, "binary"),
    ({"sens_kind": "continuous"}, "float64 of shape"),
    ({"sens_kind": "continuous", "sens": torch.tensor([0.5, float("nan"), 1.0]).double()}, "NaN"),
    ({"sens_known": torch.tensor([True, False])}, r"shape \(3,\)"),
    ({"sens_known": torch.zeros(3, dtype=torch.bool)}, "sens_known: got nobody"),
    ({"y": torch.tensor([0, 1, -2])}, "labels y: got the values -2"),
    ({"node_id": torch.tensor([4, 4, 5])}, "1 repeated ids"),
    ({"feature_names": ["a", "a"]}, "distinct"),
    (
        {
            "train_mask": torch.tensor([True, False, False]),
            "test_mask": torch.tensor([True, True, False]),
        },
        "train_mask and test_mask: got 1 nodes in both",
    ),
    ({"train_mask": torch.tensor([1, 0, 0])}, "torch.bool"),
    ({"x": None}, "got no x"),
    ({"weights": torch.ones(6)}, "field 'weights'"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_says_what_is_wrong(change: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        triangle(**change)
    assert "\n" not in str(caught.value)
    assert "Next:" in str(caught.value)
    assert isinstance(caught.value, FairgearError)


def test_a_world_in_which_nobody_is_in_group_1_is_a_graph() -> None:
    x = torch.tensor([[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]])
    assert int(triangle(x=x, sens=torch.zeros(3, dtype=torch.int64)).sens.sum()) == 0


def test_copies_batches_and_moves_as_pyg_data_does() -> None:
    graph = random_graph()
    for other in (copy.copy(graph), graph.clone(), copy.deepcopy(graph), graph.to("cpu")):
        assert isinstance(other, SensitiveGraph)
        assert other.fingerprint() == graph.fingerprint()
    batch = Batch.from_data_list([graph, graph])
    assert batch.x.shape[0] == 2 * graph.x.shape[0]


@given(seed=st.integers(0, 50))
def test_permuting_twice_gives_the_graph_back(seed: int) -> None:
    graph = random_graph(seed=seed)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(seed))
    moved = graph.permute(order)
    assert torch.equal(moved.node_id, order)
    assert torch.equal(moved.x, graph.x[order])
    # The neighbours of a person are the same people.
    ids = moved.node_id[moved.edge_index]
    assert torch.equal(undirected_edges(ids, 30), graph.edge_index)
    back = moved.permute(moved.node_id.argsort())
    assert back.fingerprint() == graph.fingerprint()


def test_permute_refuses_what_is_no_permutation() -> None:
    with pytest.raises(GraphError, match="no permutation"):
        random_graph().permute(torch.zeros(30, dtype=torch.int64))


def test_the_fingerprint_is_of_content_not_of_the_name() -> None:
    graph = random_graph()
    assert graph.replace(name="other").fingerprint() == graph.fingerprint()
    x = graph.x.clone()
    x[0, 0] += 1
    assert graph.replace(x=x).fingerprint() != graph.fingerprint()
    assert graph.replace(x=x).fingerprint("edge_index") == graph.fingerprint("edge_index")


def test_replace_leaves_the_graph_as_it_was() -> None:
    graph = random_graph()
    before = graph.fingerprint()
    graph.replace(y=torch.zeros_like(graph.y))
    assert graph.fingerprint() == before


def test_closed_neighborhood_mean_against_a_loop() -> None:
    graph = random_graph(seed=3)
    expected = []
    for i in range(30):
        around = [i, *graph.edge_index[1][graph.edge_index[0] == i].tolist()]
        expected.append(sum(int(graph.sens[j]) for j in around) / len(around))
    got = closed_neighborhood_mean(graph.sens, graph.edge_index)
    assert got.tolist() == pytest.approx(expected, abs=1e-15)


def test_further_facts_are_kept() -> None:
    graph = triangle(source="a survey")
    assert graph.permute(torch.tensor([2, 0, 1])).source == "a survey"

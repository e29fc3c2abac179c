"""Layers on directed and weighted graphs, against PyTorch Geometric; and worlds of few people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, GraphConv, SAGEConv

from fairgear import SensitiveGraph
from fairgear.causal import LocalWorld
from fairgear.methods import METHODS
from fairgear.methods.baselines.layers import GcnLayer, GinLayer, SageLayer
from fairgear.methods.baselines.neighbors import Links, link_numbers, without_links
from tests.graphs import linked_graph

KINDS = [(True, False), (False, True), (True, True)]


def in_order(directed: bool, weighted: bool) -> SensitiveGraph:
    """A graph whose rows are in canonical order."""
    graph = linked_graph(40, 110, directed=directed, weighted=weighted)
    return graph.replace(node_id=torch.arange(40))


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_gcn_is_that_of_pytorch_geometric(directed: bool, weighted: bool) -> None:
    graph = in_order(directed, weighted)
    ours, theirs = GcnLayer(4, 6), GCNConv(4, 6)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.linear.weight)
    weight = None if graph.edge_weight is None else graph.edge_weight.float()
    found = ours(graph.x, Links.of(graph.canonical).everyone.neighbors)
    torch.testing.assert_close(found, theirs(graph.x, graph.edge_index, weight))


@pytest.mark.parametrize("directed", [True, False])
def test_sage_is_that_of_pytorch_geometric(directed: bool) -> None:
    graph = in_order(directed, weighted=False)
    ours, theirs = SageLayer(4, 6), SAGEConv(4, 6)
    with torch.no_grad():
        theirs.lin_l.load_state_dict(ours.around.state_dict())
        theirs.lin_r.load_state_dict(ours.own.state_dict())
    found = ours(graph.x, Links.of(graph.canonical).everyone.neighbors)
    torch.testing.assert_close(found, theirs(graph.x, graph.edge_index))


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_means_and_sums_are_those_of_weighted_messages(directed: bool, weighted: bool) -> None:
    graph = in_order(directed, weighted)
    weight = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
    weight = weight if graph.edge_weight is None else graph.edge_weight
    total = torch.zeros(40, dtype=torch.float64).index_add(0, graph.edge_index[1], weight)
    neighbors = Links.of(graph.canonical).everyone.neighbors
    # A layer that adds weighted messages and does nothing else.
    plain = GraphConv(4, 4, aggr="add", bias=False)
    with torch.no_grad():
        plain.lin_rel.weight.copy_(torch.eye(4))
        plain.lin_root.weight.zero_()
    shares = (weight / total[graph.edge_index[1]]).float()
    torch.testing.assert_close(
        neighbors.sum(graph.x), plain(graph.x, graph.edge_index, weight.float())
    )
    torch.testing.assert_close(neighbors.mean(graph.x), plain(graph.x, graph.edge_index, shares))


def test_gin_reads_arcs() -> None:
    graph = in_order(directed=True, weighted=False)
    ours = GinLayer(4, 6)
    theirs = GINConv(ours.mlp, train_eps=True)
    found = ours(graph.x, Links.of(graph.canonical).everyone.neighbors)
    torch.testing.assert_close(found, theirs(graph.x, graph.edge_index))


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
@pytest.mark.parametrize("layer", [GcnLayer, SageLayer, GinLayer])
def test_a_batch_is_as_the_whole_graph(
    layer: type[nn.Module], directed: bool, weighted: bool
) -> None:
    graph = in_order(directed, weighted)
    links = Links.of(graph.canonical)
    ours, people = layer(4, 6), torch.tensor([5, 3, 17])
    whole = ours(graph.x, links.everyone.neighbors)
    for fanout in (0, 1000):
        batch = links.around(people, 1, fanout).to(torch.device("cpu"))
        found = batch.outputs(ours(batch.inputs(graph.x), batch.neighbors))
        torch.testing.assert_close(found, whole[people])


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_gradients_go_back_along_arcs(directed: bool, weighted: bool) -> None:
    neighbors = Links.of(in_order(directed, weighted).canonical).everyone.neighbors
    x, pull = torch.randn(40, 3, requires_grad=True), torch.randn(40, 3)
    (neighbors.sum(x) * pull).sum().backward()  # type: ignore[no-untyped-call]  # torch's
    assert x.grad is not None
    torch.testing.assert_close(x.grad, neighbors.matrix.to_dense().T @ pull)


def test_a_fanout_is_unbiased_for_weighted_sums() -> None:
    graph = in_order(directed=True, weighted=True)
    links = Links.of(graph.canonical)
    torch.manual_seed(0)
    everyone = torch.arange(40)
    drawn = [links.around(everyone, 1, 1).neighbors.sum(graph.x) for _ in range(3000)]
    expected = links.everyone.neighbors.sum(graph.x)
    spread = torch.stack(drawn).std(dim=0) / 3000**0.5
    gap: Tensor = (torch.stack(drawn).mean(dim=0) - expected).abs()
    assert bool((gap <= 6 * spread + 1e-4).all())


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_dropped_edges_lower_degrees(directed: bool, weighted: bool) -> None:
    neighbors = Links.of(in_order(directed, weighted).canonical).everyone.neighbors
    torch.manual_seed(0)
    fewer = without_links(neighbors, link_numbers(neighbors), 0.5)
    matrix = fewer.matrix.to_dense()
    assert 0.3 < float((matrix > 0).sum() / (neighbors.matrix.to_dense() > 0).sum()) < 0.7
    torch.testing.assert_close(fewer.degree[:, 0], matrix.sum(dim=1))
    # A pair keeps both of its arcs, or none.
    before = neighbors.matrix.to_dense() > 0
    assert torch.equal((matrix > 0) & before.T, (matrix > 0).T & before)


SETTINGS: dict[str, dict[str, Any]] = {
    "gcn": {"steps": 4},
    "graphsage": {"steps": 4, "batch_size": 8, "fanout": 2},
    "gin": {"steps": 4},
    "nifty-gcn": {"steps": 4},
    "c-enc": {"steps": 4},
    "fairgnn": {"steps": 4, "estimator_steps": 4},
    "gear": {"steps": 6},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("directed", "weighted"), [(True, False), (True, True)])
def test_methods_see_one_person_as_in_the_whole_world(
    name: str, directed: bool, weighted: bool
) -> None:
    graph = linked_graph(200, 500, directed=directed, weighted=weighted)
    model = METHODS[name](device="cpu", **SETTINGS[name]).fit(graph)
    rows = torch.tensor([4, 60])
    gone, come = graph.edge_index[:, ::40], torch.tensor([[4, 9, 60], [60, 4, 111]])
    known = set(map(tuple, graph.edge_index.T.tolist()))
    come = torch.tensor([pair for pair in come.T.tolist() if tuple(pair) not in known]).T
    sens = 1 - graph.sens[rows]
    x = graph.x[rows].clone()
    x[:, 1] = sens.float()
    weight = torch.linspace(0.5, 2, come.shape[1], dtype=torch.float64)
    world = LocalWorld(
        graph, rows, sens, x, gone, come, added_weight=weight if weighted else weight[:0]
    )
    near = model.predict_near([world], [rows])
    assert near is not None
    whole = model.predict_proba(world.graph(), nodes=rows)
    np.testing.assert_allclose(near, whole, atol=1e-6)
    assert np.abs(whole - model.predict_proba(graph, nodes=rows)).max() > 0


def test_weights_and_directions_matter_to_a_method() -> None:
    graph = linked_graph(200, 500, directed=True, weighted=True)
    model = METHODS["gcn"](device="cpu", steps=4).fit(graph)
    scores = model.predict_proba(graph)
    for other in (
        graph.replace(edge_weight=None),
        graph.replace(edge_index=graph.edge_index.flip(0), edge_weight=graph.edge_weight),
    ):
        assert np.abs(model.predict_proba(other) - scores).max() > 1e-3

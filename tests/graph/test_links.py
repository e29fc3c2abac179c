"""Graphs whose edges have directions or weights."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.causal import LocalWorld
from fairgear.causal.surroundings import Surroundings
from fairgear.errors import GraphError
from fairgear.graph import (
    closed_neighborhood_mean,
    communities,
    directed_edges,
    open_stored,
    write_stored,
)
from tests.graphs import linked_graph, random_graph

ARCS = torch.tensor([[2, 0, 0, 1], [0, 2, 1, 2]])
KINDS = [(True, False), (False, True), (True, True)]


def triangle(**fields: object) -> SensitiveGraph:
    """Three people; 0 → 1 → 2 → 0, and 0 → 2."""
    given_fields = {"directed": True, **fields}
    return SensitiveGraph(torch.zeros(3, 1), ARCS, None, torch.tensor([0, 1, 1]), **given_fields)  # type: ignore[arg-type]  # by name


def test_arcs_and_their_weights_are_sorted_together() -> None:
    graph = triangle(edge_weight=torch.tensor([4.0, 2.0, 1.0, 3.0]))
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 2], [2, 0]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [1, 2, 3, 4]
    assert graph.num_undirected_edges == 4
    assert "4 weighted arcs" in repr(graph)
    assert "4 arcs" in repr(triangle())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"directed": False}, "2 edges without their twin"),
        ({"directed": "yes"}, "True or False"),
        ({"edge_weight": torch.ones(3)}, r"floating-point numbers of shape \(4,\)"),
        ({"edge_weight": torch.ones(4, dtype=torch.int64)}, "floating-point"),
        ({"edge_weight": torch.tensor([1.0, 0, 1, 1])}, "1 that are not, the first 0.0"),
        ({"edge_weight": torch.tensor([1.0, torch.nan, 1, -1])}, "2 that are not, the first nan"),
    ],
)
def test_what_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        triangle(**fields)


def test_repeats_and_loops_of_arcs_are_refused() -> None:
    for more, message in (([0, 1], "1 repeated"), ([1, 1], "1 self-loops")):
        arcs = torch.cat([ARCS, torch.tensor([more]).T], dim=1)
        with pytest.raises(GraphError, match=message) as caught:
            SensitiveGraph(torch.zeros(3, 1), arcs, None, torch.tensor([0, 1, 1]), directed=True)
        assert "directed_edges" in str(caught.value)
        assert directed_edges(arcs, 3).T.tolist() == triangle().edge_index.T.tolist()


def test_undirected_weights_are_the_same_both_ways() -> None:
    plain = random_graph(10, 20)
    weight = torch.rand(plain.edge_index.shape[1]) + 0.5
    with pytest.raises(GraphError, match="another weight in each direction"):
        plain.replace(edge_weight=weight)


def test_other_edges_need_weights_of_their_own() -> None:
    graph = linked_graph(10, 20, directed=True, weighted=True)
    with pytest.raises(GraphError, match="edge_index and edge_weight together"):
        graph.replace(edge_index=graph.edge_index[:, 1:])
    assert graph.edge_weight is not None
    fewer = graph.replace(edge_index=graph.edge_index[:, 1:], edge_weight=graph.edge_weight[1:])
    assert fewer.num_undirected_edges == graph.num_undirected_edges - 1
    assert graph.replace(name="other").fingerprint() == graph.fingerprint()


def test_fingerprints_tell_directions_and_weights() -> None:
    graph = linked_graph(12, 30, directed=False, weighted=True)
    assert graph.edge_weight is not None
    others = [
        graph,
        graph.replace(edge_weight=None),
        graph.replace(edge_weight=2 * graph.edge_weight),
        graph.replace(directed=True),
    ]
    for fields in ((), ("edge_index", "node_id")):
        assert len({one.fingerprint(*fields) for one in others}) == 4
    assert len({one.fingerprint("x") for one in others}) == 1


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_reordering_people_keeps_their_arcs(directed: bool, weighted: bool) -> None:
    graph = linked_graph(15, 40, directed=directed, weighted=weighted)
    order = torch.randperm(15, generator=torch.Generator().manual_seed(1))
    moved = graph.permute(order)
    assert as_networkx(moved) == as_networkx(graph)
    assert moved.permute(order.argsort()).fingerprint() == graph.fingerprint()
    for part in (0, 1):
        found, expected = (of.canonical.incoming[0][part] for of in (moved, graph))
        assert np.array_equal(found, expected)
    if weighted:
        weights = [of.canonical.incoming[1] for of in (moved, graph)]
        assert weights[0] is not None
        assert weights[1] is not None
        assert np.array_equal(weights[0], weights[1])


def as_networkx(graph: SensitiveGraph) -> dict[tuple[int, int], float]:
    """Arcs by the ids of their ends."""
    weight = (
        torch.ones(graph.edge_index.shape[1]) if graph.edge_weight is None else graph.edge_weight
    )
    ends = graph.node_id[graph.edge_index].T.tolist()
    return {(a, b): w for (a, b), w in zip(ends, weight.tolist(), strict=True)}


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_lists_are_those_of_networkx(directed: bool, weighted: bool) -> None:
    graph = linked_graph(20, 60, directed=directed, weighted=weighted)
    known = nx.DiGraph()
    known.add_weighted_edges_from((a, b, w) for (a, b), w in as_networkx(graph).items())
    ids = graph.node_id[graph.canonical.rows].tolist()
    (indptr, indices), weights = graph.canonical.incoming
    out_ptr, out = graph.canonical.csr
    for number, person in enumerate(ids):
        mine = slice(indptr[number], indptr[number + 1])
        before = sorted(known.predecessors(person)) if person in known else []
        assert [ids[i] for i in indices[mine]] == before
        after = sorted(known.successors(person)) if person in known else []
        assert [ids[i] for i in out[out_ptr[number] : out_ptr[number + 1]]] == after
        if weights is not None:
            expected = [known[other][person]["weight"] for other in before]
            assert weights[mine].tolist() == expected


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_the_mean_around_a_person(directed: bool, weighted: bool) -> None:
    graph = linked_graph(20, 60, directed=directed, weighted=weighted)
    mean = closed_neighborhood_mean(graph.sens, graph.edge_index, graph.edge_weight)
    arcs, group = (
        as_networkx(graph),
        dict(zip(graph.node_id.tolist(), graph.sens.tolist(), strict=True)),
    )
    for row, person in enumerate(graph.node_id.tolist()):
        mine = {b: w for (a, b), w in arcs.items() if a == person}
        total = group[person] + sum(w * group[b] for b, w in mine.items())
        assert float(mean[row]) == pytest.approx(total / (1 + sum(mine.values())), rel=1e-12)


def test_unit_weights_change_no_mean() -> None:
    graph = random_graph()
    ones = torch.ones(graph.edge_index.shape[1])
    plain = closed_neighborhood_mean(graph.sens, graph.edge_index)
    assert torch.equal(closed_neighborhood_mean(graph.sens, graph.edge_index, ones), plain)


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_stored_graphs_keep_both(tmp_path: Path, directed: bool, weighted: bool) -> None:
    graph = linked_graph(20, 60, directed=directed, weighted=weighted)
    meta = write_stored(graph, tmp_path / "graph")
    assert meta["edges"] == graph.num_undirected_edges
    opened = open_stored(tmp_path / "graph", verify=True)
    assert opened.fingerprint() == graph.fingerprint()
    for part in (0, 1):
        assert np.array_equal(opened.canonical.csr[part], graph.canonical.csr[part])
    if directed:
        with pytest.raises(GraphError, match="without their twin"):
            opened.replace(directed=False, edge_weight=None)


def test_copies_keep_both() -> None:
    graph = linked_graph(20, 60, directed=True, weighted=True)
    for other in (copy.copy(graph), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.fingerprint() == graph.fingerprint()
        assert other.directed
    # As graphs were pickled before.
    plain = random_graph()
    del plain["directed"]
    assert plain.directed is False
    assert plain.replace(name="x").plain


def test_communities_are_of_ties_whatever_their_direction() -> None:
    graph = linked_graph(40, 60, directed=True, weighted=False)
    arcs = set(map(tuple, graph.edge_index.T.tolist()))
    one_way = torch.tensor([[a, b] for a, b in sorted(arcs) if a < b or (b, a) not in arcs]).T
    both = torch.cat([one_way, one_way.flip(0)], dim=1)
    undirected = graph.replace(edge_index=both, directed=False)
    assert torch.equal(communities(graph.replace(edge_index=one_way)), communities(undirected))


def changed(graph: SensitiveGraph, seed: int) -> SensitiveGraph:
    """The graph with another attribute for one, and some edges and weights changed."""
    rng = np.random.default_rng(seed)
    arcs = {(a, b): w for (a, b), w in rows_of(graph).items() if graph.directed or a < b}
    for key in [key for key in arcs if rng.random() < 0.3]:
        del arcs[key]
    for key in arcs:
        arcs[key] = arcs[key] if rng.random() < 0.5 else float(rng.random() + 0.1)
    n = len(graph.x)
    for a, b in rng.integers(n, size=(5, 2)).tolist():
        if a != b:
            arcs[(a, b) if graph.directed else (min(a, b), max(a, b))] = float(rng.random() + 0.1)
    if not graph.directed:
        arcs |= {(b, a): w for (a, b), w in arcs.items()}
    pairs = torch.tensor(list(arcs), dtype=torch.int64).T.reshape(2, -1)
    weight = torch.tensor(list(arcs.values()), dtype=torch.float64)
    return graph.replace(
        edge_index=pairs, edge_weight=None if graph.edge_weight is None else weight
    )


def rows_of(graph: SensitiveGraph) -> dict[tuple[int, int], float]:
    """Arcs by rows."""
    return as_networkx(graph.replace(node_id=torch.arange(len(graph.x))))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_a_local_world_is_the_whole_world(seed: int, kind: tuple[bool, bool]) -> None:
    graph = linked_graph(14, 30, seed=seed, directed=kind[0], weighted=kind[1])
    world = changed(graph, seed)
    local = LocalWorld.between(graph, lambda: world)
    fields = ("rows", "sens", "x", "removed", "added", "labelled", "y", "added_weight")
    again = LocalWorld(graph, **{key: getattr(local, key) for key in fields})
    assert again.graph().fingerprint() == world.fingerprint()
    people: Tensor = torch.tensor([3, 7])
    around = Surroundings.of([again], [people], 2)
    (indptr, indices), weights = world.canonical.incoming
    numbers = world.canonical.numbers[around.rows].tolist()
    for place, number in enumerate(numbers):
        mine = slice(indptr[number], indptr[number + 1])
        own = indptr[number + 1] - indptr[number] if weights is None else weights[mine].sum()
        assert float(around.degree[place]) == pytest.approx(float(own), rel=1e-12)
        if around.inner[place]:
            here = around.edges[1] == place
            assert [numbers[i] for i in around.edges[0, here]] == indices[mine].tolist()
            if weights is not None:
                assert around.weight is not None
                assert around.weight[here].tolist() == weights[mine].tolist()

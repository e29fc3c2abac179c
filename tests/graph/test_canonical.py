"""The canonical order: the same whatever the order of rows, computed once, never out of date."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.graph import SensitiveGraph
from tests.graphs import random_graph


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100), edges=st.sampled_from([0, 1, 60]))
def test_reordering_rows_changes_nothing(seed: int, edges: int) -> None:
    graph = random_graph(n=15, edges=edges, seed=seed)
    order = torch.randperm(15, generator=torch.Generator().manual_seed(seed))
    moved = graph.permute(order)
    assert torch.equal(moved.node_id[moved.canonical.rows], graph.node_id.sort().values)
    assert torch.equal(moved.canonical.rows[moved.canonical.numbers], torch.arange(15))
    assert torch.equal(moved.canonical.edge_index, graph.canonical.edge_index)
    (indptr, indices), csr = moved.canonical.csr, graph.canonical.csr
    assert np.array_equal(indptr, csr[0])
    assert np.array_equal(indices, csr[1])
    assert torch.equal(moved.canonical.in_rows(moved.canonical.edge_index), moved.edge_index)
    some = torch.tensor([11, 2, 7])
    assert torch.equal(moved.canonical.by_id(some), some[moved.node_id[some].argsort()])


def test_it_is_computed_once_and_shared_by_graphs_with_the_same_edges() -> None:
    graph = random_graph()
    held = graph.canonical
    assert graph.canonical is held
    assert graph.replace(x=graph.x + 1, sens_column=None).canonical is held
    assert copy.copy(graph).canonical is held


def test_changes_are_noticed() -> None:
    graph = random_graph()
    held = graph.canonical
    fewer = graph.edge_index[:, (graph.edge_index > 0).all(0)]
    assert graph.replace(edge_index=fewer).canonical is not held
    assert graph.canonical is held
    for other in (copy.deepcopy(graph), graph.clone(), pickle.loads(pickle.dumps(graph))):
        assert isinstance(other, SensitiveGraph)
        assert other.canonical is not held
        assert torch.equal(other.canonical.edge_index, held.edge_index)
    graph.node_id.neg_()
    assert torch.equal(graph.canonical.rows, torch.arange(len(graph.x)).flip(0))

"""Egos in worlds of few changed edges are those that a search in the whole world finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.egos import EgoIndex, NearbyEgos, PageRank, Structure
from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.graph.edges import changed_edges


def a_graph(rng: np.random.Generator, n: int, links: int) -> SensitiveGraph:
    """Several components, isolated nodes, stars and cliques (twins of both kinds), ids shuffled."""
    pairs = rng.integers(0, n, (2, links))
    star = np.stack([np.zeros(n // 8, dtype=np.int64), np.arange(1, n // 8 + 1)])
    clique = np.stack(np.triu_indices(5, 1)) + n // 2
    both = torch.from_numpy(np.concatenate([pairs, star, clique], axis=1))
    x = torch.zeros(n, 1)
    ids = torch.from_numpy(rng.permutation(n) * 3)
    return SensitiveGraph(x, undirected_edges(both, n), None, torch.zeros(n).long(), node_id=ids)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(12, 60), st.integers(1, 6), st.booleans())
def test_egos_are_those_of_the_whole_world(seed: int, n: int, k: int, close: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = a_graph(rng, n, int(rng.integers(0, 2 * n)))
    edges = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    joined = {tuple(pair) for pair in edges.t().tolist()}
    apart = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in joined]
    precision = "close" if close else "exact"
    nearby, how = NearbyEgos(graph.canonical), PageRank(k, precision=precision)
    twins, component = nearby._twins.copy(), nearby._component.copy()
    size = nearby._size.copy()
    for _ in range(6):
        gone = rng.choice(edges.shape[1], min(edges.shape[1], int(rng.integers(0, 9))), False)
        removed = edges[:, torch.from_numpy(gone)]
        fresh = rng.choice(len(apart), min(len(apart), int(rng.integers(0, 5))), replace=False)
        added = torch.tensor([apart[at] for at in fresh], dtype=torch.int64).reshape(-1, 2).t()
        world = graph.replace(edge_index=changed_edges(graph.edge_index, removed, added, n))
        whole = EgoIndex.build(world, k, precision=precision)
        ids, mask, words = nearby.find(how, removed, added, torch.arange(n))
        assert torch.equal(mask, whole.mask)
        assert torch.equal(ids.int(), whole.ids)
        assert torch.equal(words, whole.adjacency)
        # Also what the search did not need to look at.
        structure = Structure.of_canonical(world.canonical)
        numbers = graph.canonical.numbers
        with nearby._lists.world(numbers[removed].numpy(), numbers[added].numpy()) as touched:
            with nearby._new_twins(touched):
                assert np.array_equal(nearby._twins, structure.twins)
            with nearby._new_components(touched, np.arange(n)):
                assert np.array_equal(nearby._size, structure.component_size)
                same = nearby._component[:, None] == nearby._component
                assert np.array_equal(same, structure.component[:, None] == structure.component)
        assert np.array_equal(nearby._twins, twins)
        assert np.array_equal(nearby._component, component)
        assert np.array_equal(nearby._size, size)
        assert np.array_equal(nearby._lists.degree, np.diff(graph.canonical.csr[0]))


def test_a_failure_inside_a_world_leaves_the_graph_as_it_was() -> None:
    graph = a_graph(np.random.default_rng(0), 40, 60)
    lists = graph.canonical.patched
    degree, begin = lists.degree.copy(), lists.begin.copy()
    numbers = graph.canonical.numbers[graph.edge_index[:, :1]].numpy()
    none = np.empty((2, 0), dtype=np.int64)
    with lists.world(numbers, none):
        assert lists.degree.sum() == degree.sum() - 2

    def fail() -> None:
        with lists.world(numbers, none):
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert np.array_equal(lists.degree, degree)
    assert np.array_equal(lists.begin, begin)

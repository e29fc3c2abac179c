from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, regions
from fairgear.graph.communities import communities
from fairgear.graph.edges import undirected_edges


def random_edges(n: int, average_degree: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return undirected_edges(
        torch.randint(0, n, (2, round(n * average_degree / 2)), generator=generator), n
    )


def of_edges(
    edges: Tensor, n: int, node_id: Tensor | None = None, max_size: int | None = None
) -> Tensor:
    graph = SensitiveGraph(torch.ones(n, 1), edges, sens=torch.zeros(n).long(), node_id=node_id)
    return communities(graph, max_size)


@pytest.mark.parametrize("average_degree", [4, 5])
def test_a_sparse_random_graph_has_many_communities_and_no_giant(average_degree: int) -> None:
    n = 2000
    label = of_edges(random_edges(n, average_degree, 0), n)
    size = torch.bincount(label)
    assert len(size) >= 30
    assert int(size.max()) <= 45
    # Few nodes may stay alone, or resampling communities is resampling nodes.
    assert int((size == 1).sum()) < n / 20


def test_communities_hold_more_edges_than_chance() -> None:
    n = 2000
    edges = random_edges(n, 4, 1)
    label = of_edges(edges, n)
    inside = (label[edges[0]] == label[edges[1]]).double().mean()
    shuffled = label[torch.randperm(n, generator=torch.Generator().manual_seed(0))]
    by_chance = (shuffled[edges[0]] == shuffled[edges[1]]).double().mean()
    assert inside > 0.4 > 10 * by_chance


def test_planted_groups_are_found() -> None:
    rng = np.random.default_rng(0)
    groups, size = 20, 25
    n = groups * size
    planted = np.repeat(np.arange(groups), size)
    chance = np.where(planted[:, None] == planted[None, :], 0.4, 0.002)
    pairs = np.argwhere(np.triu(rng.random((n, n)) < chance, k=1)).T
    label = of_edges(undirected_edges(torch.from_numpy(pairs), n), n, max_size=40).numpy()
    # Share of nodes that are in the community which holds most of their group.
    found = sum(np.bincount(label[planted == g]).max() for g in range(groups)) / n
    mixed = sum(np.bincount(planted[label == c]).max() for c in np.unique(label)) / n
    assert found > 0.9
    assert mixed > 0.9


def test_regions_are_larger_communities() -> None:
    n = 900
    around = torch.arange(n)
    # A ring of people linked to the next three: nothing but distance.
    steps = torch.cat([torch.stack([around, (around + step) % n]) for step in (1, 2, 3)], dim=1)
    edges = undirected_edges(steps, n)
    graph = SensitiveGraph(torch.ones(n, 1), edges, sens=torch.zeros(n).long())
    small, large = communities(graph), regions(graph)
    assert int(torch.bincount(small).max()) <= 30
    assert 30 < int(torch.bincount(large).max()) <= n // 8
    crossing = [int((label[edges[0]] != label[edges[1]]).sum()) for label in (small, large)]
    assert crossing[1] < crossing[0] / 1.5


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 60), degree=st.floats(0, 6), seed=st.integers(0, 1000))
def test_reordering_the_nodes_reorders_the_labels(n: int, degree: float, seed: int) -> None:
    edges = random_edges(n, degree, seed)
    generator = torch.Generator().manual_seed(seed)
    node_id = torch.randperm(10 * n, generator=generator)[:n]
    label = of_edges(edges, n, node_id)
    order = torch.randperm(n, generator=generator)
    position = torch.empty_like(order)
    position[order] = torch.arange(n)
    again = of_edges(position[edges], n, node_id[order])
    assert torch.equal(again, label[order])
    assert torch.equal(label, of_edges(edges, n, node_id))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 60),
    degree=st.floats(0, 6),
    seed=st.integers(0, 1000),
    max_size=st.integers(1, 20),
)
def test_labels_are_complete_and_sizes_limited(
    n: int, degree: float, seed: int, max_size: int
) -> None:
    label = of_edges(random_edges(n, degree, seed), n, max_size=max_size)
    size = torch.bincount(label)
    assert label.dtype == torch.int64
    assert label.shape == (n,)
    assert int(size.min()) >= 1
    assert int(size.max()) <= max_size
    # Numbered by their first member.
    first = [int((label == c).nonzero()[0]) for c in range(len(size))]
    assert first == sorted(first)


def test_nodes_without_edges_are_alone() -> None:
    edges = undirected_edges(torch.tensor([[0, 1], [1, 2]]), 6)
    assert of_edges(edges, 6).tolist() == [0, 0, 0, 1, 2, 3]
    assert of_edges(torch.empty((2, 0), dtype=torch.int64), 3).tolist() == [0, 1, 2]


def test_two_cliques_joined_by_an_edge_are_two_of_edges() -> None:
    clique = torch.combinations(torch.arange(5)).t()
    pairs = torch.cat([clique, clique + 5, torch.tensor([[4], [5]])], dim=1)
    assert of_edges(undirected_edges(pairs, 10), 10, max_size=10).tolist() == [0] * 5 + [1] * 5


def test_bad_arguments_are_refused() -> None:
    edges = undirected_edges(torch.tensor([[0], [1]]), 3)
    with pytest.raises(ParameterError, match="max_size"):
        of_edges(edges, 3, max_size=0)

"""What heads read of the links around pairs, against networkx and plain sums."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from fairgear.links.methods.shared import SharedNeighbours
from tests.links.methods.graphs import by_hand, homophilous, split_of


def test_of_plain_edges_they_are_those_of_networkx() -> None:
    graph = homophilous()
    order = graph.canonical.rows
    made = nx.Graph(graph.edge_index.T.tolist())
    made.add_nodes_from(range(len(graph.x)))
    numbers = torch.randint(len(order), (2, 300), generator=torch.Generator().manual_seed(1))
    numbers = numbers[:, numbers[0] != numbers[1]]
    expected = [
        [
            np.log1p(len(list(nx.common_neighbors(made, one, other)))),
            np.log1p(made.degree(one)) + np.log1p(made.degree(other)),
        ]
        for one, other in order[numbers].T.tolist()
    ]
    found = SharedNeighbours(graph).pairs(numbers)
    assert float(found[:, 0].max()) > np.log(3)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["homophilous", "directed", "weighted"])
def test_a_block_is_all_pairs(kind: str) -> None:
    graph = split_of(kind).input
    n, people = len(graph.x), torch.tensor([7, 3, 40])
    shared = SharedNeighbours(graph)
    ends = torch.stack([people.repeat_interleave(n), torch.arange(n).repeat(3)])
    assert torch.equal(shared.block(people), shared.pairs(ends).view(3, n, 2))
    rows = graph.canonical.rows
    for at in (5, n + 20, 2 * n + 60):
        one, other = rows[ends[:, at]].tolist()
        common = by_hand("common-neighbours", graph, one, other)
        assert float(shared.pairs(ends)[at, 0]) == pytest.approx(np.log1p(common), rel=1e-6)


@pytest.mark.parametrize("kind", ["homophilous", "directed", "weighted"])
def test_who_is_near_shares_somebody(kind: str) -> None:
    graph = split_of(kind).input
    shared, people = SharedNeighbours(graph), torch.arange(len(graph.x))
    places, numbers = shared.near(people)
    expected = torch.nonzero(shared.block(people)[:, :, 0]).numpy()
    order = np.lexsort((numbers, places))
    np.testing.assert_array_equal(np.stack([places, numbers], axis=1)[order], expected)
    count = np.bincount(places, minlength=len(people))
    most = shared.most_near(people)
    assert (count <= most).all()
    assert most.sum() < len(people) ** 2


def test_pairs_that_were_asked_for_are_kept_and_others_are_not_mistaken_for_them() -> None:
    graph = homophilous()
    shared = SharedNeighbours(graph)
    sets = [torch.randint(len(graph.x), (2, 40)) for _ in range(5)]
    again = [*sets, sets[4], sets[0].flip(1), sets[0], sets[3]]
    for ends in again:
        assert torch.equal(shared.pairs(ends), SharedNeighbours(graph).pairs(ends))
    assert shared.pairs(sets[3]) is shared.pairs(sets[3].clone())

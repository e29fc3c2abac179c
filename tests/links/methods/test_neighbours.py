"""Floors that read the graph alone, against networkx and brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from fairgear.graph import SensitiveGraph
from fairgear.links import LINK_METHODS
from fairgear.links.base import Floats
from fairgear.links.methods import neighbours
from tests.links.methods.graphs import by_hand, fitted, homophilous, split_of

FLOORS = ("common-neighbours", "adamic-adar", "preferential-attachment")


def pairs(graph: SensitiveGraph, count: int = 300) -> torch.Tensor:
    ends = torch.randint(len(graph.x), (2, count), generator=torch.Generator().manual_seed(1))
    return ends[:, ends[0] != ends[1]]


def counts(name: str, kind: str, graph: SensitiveGraph, ends: torch.Tensor) -> Floats:
    """What the scores were before they were bounded."""
    scores = fitted(name, kind).score(graph, ends)
    return scores / (1 - scores)


def test_common_neighbours_are_those_of_networkx() -> None:
    graph = homophilous()
    made, ends = nx.Graph(graph.edge_index.T.tolist()), pairs(graph)
    made.add_nodes_from(range(len(graph.x)))
    expected = [len(list(nx.common_neighbors(made, *pair))) for pair in ends.T.tolist()]
    assert max(expected) > 3
    np.testing.assert_allclose(counts(FLOORS[0], "homophilous", graph, ends), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("adamic-adar", nx.adamic_adar_index),
        ("preferential-attachment", nx.preferential_attachment),
    ],
)
def test_other_indices_are_those_of_networkx(name: str, index: Callable[..., Any]) -> None:
    graph = homophilous()
    made, ends = nx.Graph(graph.edge_index.T.tolist()), pairs(graph)
    made.add_nodes_from(range(len(graph.x)))
    expected = [value for _, _, value in index(made, [tuple(pair) for pair in ends.T.tolist()])]
    found = counts(name, "homophilous", graph, ends)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FLOORS)
@pytest.mark.parametrize("kind", ["directed", "weighted"])
def test_arcs_and_weights_count_as_the_definition_says(name: str, kind: str) -> None:
    graph = split_of(kind).input
    ends = pairs(graph, 60)
    # Pairs that share somebody are few among all.
    near: list[list[int]] = []
    for first, between in graph.edge_index.T.tolist()[:40]:
        near += [[first, j] for j in graph.edge_index[1][graph.edge_index[0] == between].tolist()]
    near = [pair for pair in near if pair[0] != pair[1]][:60]
    ends = torch.cat([ends, torch.tensor(near).T], dim=1)
    expected = [by_hand(name, graph, *pair) for pair in ends.T.tolist()]
    assert sum(value > 0 for value in expected) > 20
    np.testing.assert_allclose(counts(name, kind, graph, ends), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FLOORS)
def test_parts_of_pairs_are_scored_as_all_of_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = homophilous()
    ends = pairs(graph)
    whole = fitted(name).score(graph, ends)
    monkeypatch.setattr(neighbours, "_CHUNK", 7)
    np.testing.assert_array_equal(fitted(name).score(graph, ends), whole)


def test_floors_are_registered() -> None:
    assert set(FLOORS) | {"logistic"} < set(LINK_METHODS)

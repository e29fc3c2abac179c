"""Egos are found once for all who ask, and told apart by the content of the edges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from fairgear import SensitiveGraph, datasets
from fairgear.egos import EgoIndex, memory, remembered


@pytest.fixture
def graph() -> Iterator[SensitiveGraph]:
    memory.forget()
    yield datasets.load("synthetic", n=120, threshold=0.3)
    memory.forget()


def test_equal_edges_share_an_index(graph: SensitiveGraph) -> None:
    first = remembered(graph, 5, 0.15)
    assert remembered(graph.replace(x=graph.x.clone()), 5, 0.15) is first
    built = EgoIndex.build(graph, 5, 0.15)
    assert first.key == built.key
    assert torch.equal(first.ids, built.ids)


def test_other_edges_nodes_and_settings_do_not(graph: SensitiveGraph) -> None:
    first = remembered(graph, 5, 0.15)
    rewired = graph.replace(edge_index=graph.edge_index[:, :0], mechanism=None)
    some = torch.arange(40)
    for other in (
        remembered(graph, 6, 0.15),
        remembered(graph, 5, 0.3),
        remembered(rewired, 5, 0.15),
        remembered(graph, 5, 0.15, some),
    ):
        assert other is not first
    assert remembered(graph, 5, 0.15, some) is remembered(graph, 5, 0.15, some.clone())


def test_the_oldest_goes_when_there_are_too_many(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = remembered(graph, 5, 0.15)
    monkeypatch.setattr(memory, "LIMIT", 2 * first.ids.nbytes + first.adjacency.nbytes * 2)
    second = remembered(graph, 5, 0.3)
    assert remembered(graph, 5, 0.3) is second
    assert remembered(graph, 5, 0.15) is not first

"""Egos are found once in a process, and told apart by the content of the edges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from fairgear import SensitiveGraph, datasets
from fairgear.egos import EgoIndex, cached, clear_cache


@pytest.fixture
def graph() -> Iterator[SensitiveGraph]:
    clear_cache()
    yield datasets.load("synthetic", n=120, threshold=0.3)
    clear_cache()


def test_equal_edges_share_an_index(graph: SensitiveGraph) -> None:
    first = cached(graph, 5, 0.15)
    assert cached(graph.replace(x=graph.x.clone()), 5, 0.15) is first
    built = EgoIndex.build(graph, 5, 0.15)
    assert first.key == built.key
    assert torch.equal(first.ids, built.ids)


def test_other_edges_nodes_and_settings_do_not(graph: SensitiveGraph) -> None:
    first = cached(graph, 5, 0.15)
    rewired = graph.replace(edge_index=graph.edge_index[:, :0], mechanism=None)
    some = torch.arange(40)
    for other in (
        cached(graph, 6, 0.15),
        cached(graph, 5, 0.3),
        cached(rewired, 5, 0.15),
        cached(graph, 5, 0.15, some),
    ):
        assert other is not first
    assert cached(graph, 5, 0.15, some) is cached(graph, 5, 0.15, some.clone())


def test_the_oldest_goes_when_there_are_too_many(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached(graph, 5, 0.15)
    monkeypatch.setattr(
        "fairgear.egos.index.LIMIT", 2 * first.ids.nbytes + first.adjacency.nbytes * 2
    )
    second = cached(graph, 5, 0.3)
    assert cached(graph, 5, 0.3) is second
    assert cached(graph, 5, 0.15) is not first

from __future__ import annotations

from typing import Any

import pytest
import torch

from fairgear.egos import EgoIndex, top_k_pagerank
from fairgear.egos.batches import unpack
from fairgear.errors import ParameterError
from tests.egos.plain import complete, disconnected_edges, path, people, random_edges, star

N = 150
GRAPH = people(disconnected_edges(N, 0), N)
INDEX = EgoIndex.build(GRAPH, k=10)


def same(a: EgoIndex, b: EgoIndex) -> bool:
    return (
        torch.equal(a.ids, b.ids)
        and torch.equal(a.mask, b.mask)
        and torch.equal(a.adjacency, b.adjacency)
        and (a.key, a.uncertified) == (b.key, b.uncertified)
    )


def test_members_are_those_of_pagerank() -> None:
    ids, mask = top_k_pagerank(GRAPH.edge_index, N, k=10)
    assert torch.equal(INDEX.ids.long(), ids)
    assert torch.equal(INDEX.mask, mask)
    assert (len(INDEX), INDEX.k) == (N, 10)
    assert not bool(mask.all()), "the graph has small components, or padding is not tested"


def test_node_ids_break_ties() -> None:
    n = 12
    reversed_ids = people(complete(n), n).replace(node_id=torch.arange(n).flip(0))
    assert EgoIndex.build(reversed_ids, k=3).ids[0].tolist() == [0, 11, 10]


@pytest.mark.parametrize("k", [1, 10, 64])
def test_bits_are_the_induced_adjacency(k: int) -> None:
    n = 100
    graph = people(random_edges(n, 250, 1), n) if k == 64 else GRAPH
    n = len(graph.x)
    index = EgoIndex.build(graph, k=k)
    dense = torch.zeros(n, n, dtype=torch.bool)
    dense[graph.edge_index[0], graph.edge_index[1]] = True
    ids = index.ids.long()
    expected = dense[ids[:, :, None], ids[:, None, :]]
    expected &= index.mask[:, :, None] & index.mask[:, None, :]
    assert torch.equal(unpack(index.adjacency), expected)
    if k == 64:
        assert bool(expected[:, :, 63].any()), "the sign bit is used"


def test_k_beyond_a_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="65"):
        EgoIndex.build(GRAPH, k=65)


@pytest.mark.parametrize(
    "change",
    [
        {"k": 11},
        {"alpha": 0.2},
        {"tolerance": 1e-4},
        {"rank_by": "visits"},
        {"steps": 10},
        {"nodes": torch.arange(N)},
    ],
)
def test_every_parameter_changes_the_key(change: dict[str, Any]) -> None:
    assert EgoIndex.build(GRAPH, **{"k": 10, **change}).key != INDEX.key


def test_key_is_of_the_content_not_of_the_name() -> None:
    renamed = GRAPH.replace(name="another", x=GRAPH.x + 1)
    assert EgoIndex.build(renamed, k=10).key == INDEX.key
    fewer = GRAPH.edge_index[:, (GRAPH.edge_index != GRAPH.edge_index[0, 0]).all(0)]
    assert EgoIndex.build(GRAPH.replace(edge_index=fewer), k=10).key != INDEX.key
    assert EgoIndex.build(GRAPH.replace(node_id=torch.arange(N) + 1), k=10).key != INDEX.key


def test_uncertified_are_counted() -> None:
    middle = EgoIndex.build(people(path(21), 21), k=6, nodes=torch.tensor([0, 10]))
    assert middle.uncertified == 1
    assert EgoIndex.build(people(star(30), 31), k=5).uncertified == 0


def test_it_prints_on_one_short_line() -> None:
    assert repr(INDEX) == f"EgoIndex(150 egos of 10, {INDEX.uncertified} uncertified)"
    assert repr(INDEX.batch(torch.arange(3), GRAPH.x)) == "EgoBatch(x=[3, 10, 3], cpu)"

"""Pairs of people, and graphs without the edges between them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import FairgearError
from fairgear.links.pairs import check_ends, pair_keys, without_pairs
from tests.graphs import linked_graph, random_graph


@given(seed=st.integers(0, 50), directed=st.booleans(), weighted=st.booleans())
def test_a_graph_without_pairs_has_all_other_edges_with_their_weights(
    seed: int, directed: bool, weighted: bool
) -> None:
    graph = linked_graph(seed=seed, directed=directed, weighted=weighted)
    generator = torch.Generator().manual_seed(seed)
    # Edges and other pairs, in either order.
    chosen = torch.randint(0, graph.edge_index.shape[1], (9,), generator=generator)
    random = torch.randint(0, 30, (2, 9), generator=generator)
    ends = torch.cat([graph.edge_index[:, chosen].flip(0), random[:, random[0] != random[1]]], 1)
    gone = {tuple(pair) for pair in ends.T.tolist()}
    if not directed:
        gone |= {(j, i) for i, j in gone}
    weight = graph.edge_weight if weighted else torch.ones(graph.edge_index.shape[1])
    assert weight is not None
    rows = zip(graph.edge_index.T.tolist(), weight.tolist(), strict=True)
    kept = {(i, j): one for (i, j), one in rows if (i, j) not in gone}
    fewer = without_pairs(graph, ends)
    left = fewer.edge_weight if weighted else torch.ones(fewer.edge_index.shape[1])
    assert left is not None
    found = zip(map(tuple, fewer.edge_index.T.tolist()), left.tolist(), strict=True)
    assert dict(found) == kept
    assert fewer.directed == directed
    assert torch.equal(fewer.x, graph.x)


def test_a_graph_that_has_none_of_the_pairs_is_itself() -> None:
    graph = random_graph()
    linked = {tuple(edge) for edge in graph.edge_index.T.tolist()}
    apart = next((0, j) for j in range(1, 30) if (0, j) not in linked)
    assert without_pairs(graph, torch.tensor([apart]).T) is graph
    assert without_pairs(graph, torch.empty(2, 0, dtype=torch.int64)) is graph


@given(
    pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=2, max_size=2),
    directed=st.booleans(),
)
def test_keys_are_equal_for_the_same_pair_alone(
    pairs: list[tuple[int, int]], directed: bool
) -> None:
    one, other = pairs
    same = one == other if directed else sorted(one) == sorted(other)
    keys = pair_keys(torch.tensor(pairs).T, 12, directed=directed)
    assert bool(keys[0] == keys[1]) == same


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (torch.tensor([[0], [30]]), "row 30; allowed: rows from 0 to 29"),
        (torch.tensor([[0], [-1]]), "row -1"),
        (torch.tensor([[0, 4], [1, 4]]), "row 4 with itself"),
        (torch.tensor([[0.0], [1.0]]), "float32 of shape"),
        (torch.tensor([[0, 1]]), "int64 of shape"),
        (torch.tensor([0, 1]), "int64 of shape"),
    ],
)
def test_what_is_no_pair_is_refused_in_one_line(ends: torch.Tensor, said: str) -> None:
    with pytest.raises(FairgearError, match="pairs of people") as error:
        check_ends(ends, 30)
    assert said in str(error.value)
    assert "\n" not in str(error.value)

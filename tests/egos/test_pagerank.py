from __future__ import annotations

import multiprocessing
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from fairgear.egos import PageRank, Structure, find_egos, top_k_pagerank
from fairgear.errors import GraphError, ParameterError
from tests.egos.plain import (
    complete,
    dense_pagerank,
    dense_walk,
    disconnected_edges,
    overlap,
    path,
    random_edges,
    scale_free_edges,
    similarity_edges,
    star,
)

N = 1200
GRAPHS = {
    "random": (random_edges(N, 4 * N, 0), N),
    "sparse": (random_edges(N, N, 1), N),
    "scale-free": (scale_free_edges(2000, 3, 2), 2000),
    "similarity": (similarity_edges(N, 12, 4), N),
    "disconnected": (disconnected_edges(N, 3), N),
}


@cache
def exact_scores(name: str) -> NDArray[np.float64]:
    """The dense inverse; tests must leave it as it is."""
    return dense_pagerank(*GRAPHS[name])


@pytest.mark.parametrize("rank_by", ["importance", "visits"])
@pytest.mark.parametrize("name", GRAPHS)
def test_members_are_those_of_the_dense_inverse(name: str, rank_by: str) -> None:
    edges, n = GRAPHS[name]
    exact = exact_scores(name) if rank_by == "importance" else exact_scores(name).T
    other = exact.T
    ids, mask = top_k_pagerank(edges, n, rank_by=rank_by)
    assert overlap(ids, mask, exact) >= 0.999
    # Row and column are not the same thing, or this test could not tell them apart.
    assert overlap(ids, mask, other) < 0.99


@pytest.mark.parametrize("rank_by", ["importance", "visits"])
@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_certified_is_right(name: str, rank_by: str) -> None:
    edges, n = GRAPHS[name]
    exact = exact_scores(name) if rank_by == "importance" else exact_scores(name).T
    egos = find_egos(Structure.of(edges, n), PageRank(rank_by=rank_by))
    assert egos.uncertified.float().mean() < 0.05
    for i in torch.nonzero(~egos.uncertified).flatten().tolist():
        row = exact[i].copy()
        inside = egos.ids[i][egos.mask[i]].numpy()
        last = row[inside[1:]].min(initial=np.inf)
        row[inside] = 0.0
        assert row.max() <= last * (1 + 1e-12) + 1e-18


@pytest.mark.parametrize("rank_by", ["importance", "visits"])
def test_ten_steps_are_ten_dense_power_steps(rank_by: str) -> None:
    edges, n = GRAPHS["disconnected"]
    walk = dense_walk(edges, n)
    x = np.eye(n)
    for _ in range(10):
        x = 0.15 * np.eye(n) + 0.85 * walk @ x
    degree = np.maximum(np.bincount(edges[0].numpy(), minlength=n), 1)
    scores = x.T / degree if rank_by == "importance" else x.T
    ids, mask = top_k_pagerank(edges, n, steps=10, rank_by=rank_by)
    assert overlap(ids, mask, scores, noise=0.0) == 1.0


def test_fewer_steps_reach_less() -> None:
    _, mask = top_k_pagerank(path(50), 50, k=20, steps=3, nodes=torch.tensor([25]))
    assert mask.sum() == 7


@pytest.mark.parametrize("tolerance", [None, 1e-4, 0.5])
@pytest.mark.parametrize("name", GRAPHS)
def test_mask_is_true_exactly_for_what_is_in_reach(name: str, tolerance: float | None) -> None:
    edges, n = GRAPHS[name]
    ids, mask = top_k_pagerank(edges, n, k=20, tolerance=tolerance)
    reach = _component_sizes(edges, n)
    assert torch.equal(mask.sum(1), reach.clamp(max=20))
    assert bool((mask[:, :-1] | ~mask[:, 1:]).all()), "padding comes last"
    centre = torch.arange(n)[:, None].expand_as(ids)
    assert torch.equal(ids[~mask], centre[~mask])


def _component_sizes(edges: Tensor, n: int) -> Tensor:
    label = torch.arange(n)
    while True:
        lower = label.clone().scatter_reduce_(0, edges[0], label[edges[1]], "amin")
        if torch.equal(lower, label):
            return torch.bincount(label, minlength=n)[label]
        label = lower


def test_hub_and_leaves() -> None:
    n = 1001
    ids, mask = top_k_pagerank(star(n - 1), n, k=5)
    assert ids[0].tolist() == [0, 1, 2, 3, 4]
    # For a leaf the hub comes first; all other leaves matter alike.
    assert ids[7].tolist() == [7, 0, 1, 2, 3]
    assert ids[1].tolist() == [1, 0, 2, 3, 4]
    assert bool(mask.all())
    egos = find_egos(Structure.of(star(n - 1), n), PageRank(k=5))
    assert not bool(egos.uncertified.any()), "leaves are twins, their ties are certain"


def test_hub_is_pushed_whatever_the_tolerance() -> None:
    ids, mask = top_k_pagerank(star(3000), 3001, k=5, tolerance=0.01, nodes=torch.tensor([0, 1]))
    assert ids.tolist() == [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]]
    assert bool(mask.all())


def test_isolated_node_has_only_itself() -> None:
    ways: list[dict[str, Any]] = [{}, {"tolerance": 1e-4}, {"steps": 10}]
    for arguments in ways:
        ids, mask = top_k_pagerank(path(3), 5, k=4, **arguments)
        assert ids[4].tolist() == [4, 4, 4, 4]
        assert mask[4].tolist() == [True, False, False, False]
        assert sorted(ids[0, :3].tolist()) == [0, 1, 2]
        assert mask[0].tolist() == [True, True, True, False]


def test_graph_without_edges() -> None:
    ids, mask = top_k_pagerank(torch.empty(2, 0, dtype=torch.int64), 3, k=2)
    assert ids.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert mask.tolist() == [[True, False]] * 3


@pytest.mark.parametrize("arguments", [{}, {"tolerance": 1e-3}, {"steps": 4}])
@pytest.mark.parametrize("rank_by", ["importance", "visits"])
def test_all_tied_goes_to_the_smallest_ids(arguments: dict[str, Any], rank_by: str) -> None:
    n = 30
    node_id = torch.arange(n).flip(0)
    ids, _ = top_k_pagerank(complete(n), n, k=4, rank_by=rank_by, node_id=node_id, **arguments)
    assert ids[0].tolist() == [0, 29, 28, 27]
    assert ids[28].tolist() == [28, 29, 27, 26]
    structure = Structure.of(complete(n), n)
    assert not bool(find_egos(structure, PageRank(k=4, rank_by=rank_by)).uncertified.any())


def test_tie_that_no_twins_explain_is_uncertified_and_goes_to_the_smaller_id() -> None:
    # From the middle of a path its two ends are alike, though they share no neighbour.
    middle = torch.tensor([10])
    for node_id, last in ((torch.arange(21), 7), (torch.arange(21).flip(0), 13)):
        egos = find_egos(Structure.of(path(21), 21, node_id), PageRank(k=6), nodes=middle)
        assert sorted(egos.ids[0].tolist()) == sorted([8, 9, 10, 11, 12, last])
        assert egos.uncertified.tolist() == [True]
    odd = find_egos(Structure.of(path(21), 21), PageRank(k=7), nodes=middle)
    assert sorted(odd.ids[0].tolist()) == [7, 8, 9, 10, 11, 12, 13]
    assert odd.uncertified.tolist() == [False]


def test_small_components_are_certified() -> None:
    edges = path(21)
    egos = find_egos(Structure.of(edges, 21), PageRank(k=21))
    assert not bool(egos.uncertified.any())
    assert bool(egos.mask.all())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    density=st.floats(0.3, 4.0),
    rank_by=st.sampled_from(["importance", "visits"]),
    how=st.sampled_from([{}, {"tolerance": 1e-3}, {"steps": 5}]),
)
def test_relabelling_changes_nothing(
    seed: int, n: int, density: float, rank_by: str, how: dict[str, Any]
) -> None:
    edges = random_edges(n, int(density * n), seed)
    rng = np.random.default_rng(seed)
    node_id = torch.from_numpy(rng.permutation(10 * n)[:n])
    order = torch.from_numpy(rng.permutation(n))
    position = order.argsort()
    ids, mask = top_k_pagerank(edges, n, k=7, rank_by=rank_by, node_id=node_id, **how)
    moved_ids, moved_mask = top_k_pagerank(
        position[edges], n, k=7, rank_by=rank_by, node_id=node_id[order], **how
    )
    assert torch.equal(order[moved_ids], ids[order])
    assert torch.equal(moved_mask, mask[order])


def test_some_nodes_in_any_order() -> None:
    edges, n = GRAPHS["random"]
    ids, _ = top_k_pagerank(edges, n, k=5)
    nodes = torch.tensor([17, 3, 17, 900])
    some, _ = top_k_pagerank(edges, n, k=5, nodes=nodes)
    assert torch.equal(some, ids[nodes])


def test_progress_says_how_many_are_uncertain(capsys: pytest.CaptureFixture[str]) -> None:
    top_k_pagerank(path(21), 21, k=6, nodes=torch.tensor([10, 0]))
    captured = capsys.readouterr()
    assert "1 of 2" in captured.err
    assert captured.out == ""
    top_k_pagerank(path(21), 21, k=7, nodes=torch.tensor([10]))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": 0},
        {"k": 2.5},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"tolerance": 0.0},
        {"tolerance": float("nan")},
        {"rank_by": "rows"},
        {"steps": 0},
        {"steps": 3, "tolerance": 1e-3},
        {"nodes": torch.tensor([7])},
        {"nodes": torch.tensor([-1])},
        {"nodes": torch.tensor([0.5])},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        top_k_pagerank(path(5), 5, **arguments)


@pytest.mark.parametrize(
    "edges",
    [
        path(9).t().contiguous(),
        path(9).int(),
        path(11),
        path(9)[:, :5],
        torch.tensor([[0, 1], [1, 2]]),
    ],
    ids=["transposed", "int32", "out of range", "one direction missing", "directed"],
)
def test_edge_lists_that_would_give_wrong_egos_are_refused(edges: Tensor) -> None:
    with pytest.raises(GraphError, match="edge_index"):
        top_k_pagerank(edges, 9)


def _ids_in_child(sender: Any, edges: Tensor, n: int) -> None:
    sender.send(top_k_pagerank(edges, n)[0].tolist())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_child_can_call_it() -> None:
    edges, n = GRAPHS["random"]
    ids, _ = top_k_pagerank(edges, n)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe()
    child = context.Process(target=_ids_in_child, args=(sender, edges, n))
    child.start()
    try:
        assert receiver.poll(30), "the child hangs"
        assert receiver.recv() == ids.tolist()
    finally:
        child.kill()
        child.join()

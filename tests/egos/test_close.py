"""Egos by estimate: nearly those of the dense inverse, and the same however they are asked for."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairgear.egos import (
    EgoIndex,
    PageRank,
    Structure,
    close,
    find_egos,
    pagerank,
    search,
    top_k_pagerank,
)
from fairgear.egos.flood import dry, spill
from fairgear.egos.push import begin, make, push
from fairgear.errors import ParameterError
from fairgear.graph import undirected_edges
from tests.egos.plain import (
    complete,
    dense_pagerank,
    disconnected_edges,
    overlap,
    path,
    people,
    random_edges,
    scale_free_edges,
    similarity_edges,
    star,
)

N = 1500
GRAPHS = {
    "random": (random_edges(N, 10 * N, 0), N),
    "sparse": (random_edges(N, N, 1), N),
    "scale-free": (scale_free_edges(N, 8, 2), N),
    "similarity": (similarity_edges(N, 12, 4), N),
    "disconnected": (disconnected_edges(N, 3), N),
}


@cache
def exact_scores(name: str) -> NDArray[np.float64]:
    """The dense inverse; tests must leave it as it is."""
    return dense_pagerank(*GRAPHS[name])


@pytest.mark.parametrize("k", [5, 20, 50])
@pytest.mark.parametrize("name", GRAPHS)
def test_nearly_all_members_are_those_of_the_dense_inverse(name: str, k: int) -> None:
    ids, mask = top_k_pagerank(*GRAPHS[name], k=k, precision="close")
    assert overlap(ids, mask, exact_scores(name)) >= 0.995


@pytest.mark.parametrize("name", GRAPHS)
def test_nearly_all_members_by_visits(name: str) -> None:
    nodes = torch.arange(0, N, 5)
    exact = exact_scores(name).T[nodes]
    ids, mask = top_k_pagerank(*GRAPHS[name], rank_by="visits", precision="close", nodes=nodes)
    agreed = [
        len(set(row[inside].tolist()) & set(_best(scores, int(centre), int(inside.sum()))))
        / int(inside.sum())
        for row, inside, scores, centre in zip(ids, mask, exact, nodes, strict=True)
    ]
    assert np.mean(agreed) >= 0.99


def _best(scores: np.ndarray[Any, Any], centre: int, k: int) -> list[int]:
    scores = scores.copy()
    scores[centre] = np.inf
    return np.argsort(-scores, kind="stable")[:k].tolist()  # type: ignore[no-any-return] # numpy's


@pytest.mark.parametrize("alpha", [0.05, 0.5])
@pytest.mark.parametrize("name", ["random", "scale-free", "similarity"])
def test_other_alphas(name: str, alpha: float) -> None:
    edges, n = GRAPHS[name]
    ids, mask = top_k_pagerank(edges, n, alpha=alpha, precision="close")
    assert overlap(ids, mask, dense_pagerank(edges, n, alpha)) >= 0.995


@pytest.mark.parametrize("name", ["random", "scale-free", "similarity"])
def test_a_clear_last_place_is_that_of_the_exact_search(name: str) -> None:
    structure = Structure.of(*GRAPHS[name])
    near = find_egos(structure, PageRank(precision="close")).ids
    exact = find_egos(structure, PageRank()).ids
    assert not torch.equal(near, exact), "the two do not do the same"
    clear = 0
    for i in range(N):
        last, following = np.sort(np.delete(exact_scores(name)[i], i))[::-1][18:20]
        if following < 0.95 * last:
            clear += 1
            assert set(near[i].tolist()) == set(exact[i].tolist())
    assert clear > 20


def test_chunks_and_company_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scale-free", "similarity"):
        structure = Structure.of(*GRAPHS[name])
        how = PageRank(precision="close")
        together = find_egos(structure, how)
        nodes = torch.tensor([3, 0, 1499, 3, 700])
        assert torch.equal(find_egos(structure, how, nodes=nodes).ids, together.ids[nodes])
        monkeypatch.setattr(pagerank, "CHUNK", 7)
        assert torch.equal(find_egos(structure, how).ids, together.ids)
        monkeypatch.undo()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), density=st.floats(0.3, 4.0))
def test_relabelling_changes_nothing(seed: int, n: int, density: float) -> None:
    edges = random_edges(n, int(density * n), seed)
    rng = np.random.default_rng(seed)
    node_id = torch.from_numpy(rng.permutation(10 * n)[:n])
    order = torch.from_numpy(rng.permutation(n))
    ids, mask = top_k_pagerank(edges, n, k=7, precision="close", node_id=node_id)
    moved_ids, moved_mask = top_k_pagerank(
        order.argsort()[edges], n, k=7, precision="close", node_id=node_id[order]
    )
    assert torch.equal(order[moved_ids], ids[order])
    assert torch.equal(moved_mask, mask[order])


def test_twins_go_to_the_smaller_ids() -> None:
    ids, mask = top_k_pagerank(star(600), 601, k=5, precision="close")
    assert ids[0].tolist() == [0, 1, 2, 3, 4]
    assert ids[7].tolist() == [7, 0, 1, 2, 3]
    assert bool(mask.all())
    egos = find_egos(Structure.of(star(600), 601), PageRank(k=5, precision="close"))
    assert not bool(egos.uncertified.any()), "no doubt among twins"
    ids, _ = top_k_pagerank(
        complete(30), 30, k=4, precision="close", node_id=torch.arange(30).flip(0)
    )
    assert ids[28].tolist() == [28, 29, 27, 26]


def test_hub_neither_fills_the_table_nor_slows_a_pull() -> None:
    n = 20_000
    around = torch.arange(n)
    ring = torch.stack([around + 1, (around + 1) % n + 1])
    spokes = torch.stack([torch.zeros_like(around), around + 1])
    structure = Structure.of(undirected_edges(torch.cat([ring, spokes], dim=1), n + 1), n + 1)
    state = make(16)
    begin(state, 7, 3)
    state, count, _ = push(structure.arrays, 0.15, 1.0, search.ROUGH, 10**6, True, state, 1)
    assert count < 100, "the hub is touched, but not pushed"
    looks = close._pull(structure.arrays, 0, state[0])[1]
    assert 0 < looks <= close.LOOKS
    # What is near on the ring comes first; the hub, one of whose 20,000 links leads here, does not.
    ids = find_egos(structure, PageRank(k=7, precision="close"), nodes=torch.tensor([7])).ids
    assert sorted(ids[0].tolist()) == [4, 5, 6, 7, 8, 9, 10]


def test_pull_is_the_mean_over_neighbours() -> None:
    edges, n = GRAPHS["scale-free"]
    structure = Structure.of(edges, n)
    state = make(16)
    begin(state, 7, int(structure.degrees[7]))
    state, count, _ = push(structure.arrays, 0.15, 1.0, 1e-4, 10**6, True, state, 1)
    flood = dry(n)
    spill(state[0], state[1], state[2][:count], flood)
    residual = flood[0][:n]
    assert residual[7] == 0.0, "what comes back is dropped"
    ratio = residual / structure.degrees
    for node in (3, 900, 1400):
        neighbours = edges[1][edges[0] == node].numpy()
        mean, looks = close._pull(structure.arrays, node, state[0])
        assert looks == len(neighbours)
        np.testing.assert_allclose(mean, ratio[neighbours].mean(), rtol=1e-12)


def test_dropping_what_comes_back_scales_all_other_scores_alike() -> None:
    edges, n = GRAPHS["scale-free"]
    structure = Structure.of(edges, n)
    state = make(16)
    begin(state, 7, int(structure.degrees[7]))
    state, count, _ = push(structure.arrays, 0.15, 1.0, 1e-12, 10**9, True, state, 1)
    flood = dry(n)
    spill(state[0], state[1], state[2][:count], flood)
    settled = flood[1][:n]
    factor = np.delete(settled, 7) / np.delete(exact_scores("scale-free")[:, 7], 7)
    assert np.ptp(factor) < 1e-6 < 1 - factor[0]


def test_isolated_nodes_and_small_components() -> None:
    ids, mask = top_k_pagerank(path(3), 5, k=4, precision="close")
    assert ids[4].tolist() == [4, 4, 4, 4]
    assert sorted(ids[0, :3].tolist()) == [0, 1, 2]
    assert mask.sum(1).tolist() == [3, 3, 3, 1, 1]


@pytest.mark.parametrize("arguments", [{"tolerance": 1e-3}, {"steps": 3}])
def test_it_has_no_tolerance_and_no_steps(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="precision"):
        PageRank(precision="close", **arguments)


def test_other_precisions_are_refused() -> None:
    with pytest.raises(ParameterError, match="exact or close"):
        PageRank(precision="rough")


def test_an_index_takes_it_and_its_key_tells() -> None:
    graph = people(GRAPHS["sparse"][0], N)
    index = EgoIndex.build(graph, precision="close")
    assert index.key == EgoIndex.key_of(graph, precision="close") != EgoIndex.key_of(graph)
    ids, _ = top_k_pagerank(graph.edge_index, N, precision="close")
    assert torch.equal(index.ids.long(), ids)


@pytest.mark.parametrize("far", [0, 9999])
def test_nodes_that_no_coarse_push_has_touched_are_not_overlooked(far: int) -> None:
    """Eighteen neighbours are hubs; behind the nineteenth are the nodes that matter."""
    hubs = 19 + (far > 0)
    leaves = [1999] * 18 + [249] + [far] * (far > 0)
    sources = [0] * hubs + [hub + 1 for hub, count in enumerate(leaves) for _ in range(count)]
    n = 1 + hubs + sum(leaves)
    edges = undirected_edges(torch.tensor([sources, list(range(1, n))]), n)
    found = [
        top_k_pagerank(edges, n, precision=how, nodes=torch.tensor([0]))[0]
        for how in ("exact", "close")
    ]
    assert torch.equal(*found)


def test_a_hub_is_not_ranked_by_its_neighbours_degrees_alone() -> None:
    n = 20_000
    edges = scale_free_edges(n, 10, 5)
    structure = Structure.of(edges, n)
    hubs = torch.from_numpy(np.flatnonzero(structure.degrees > 200)[:12])
    assert len(hubs) >= 5
    exact, near = (
        find_egos(structure, PageRank(precision=how), nodes=hubs).ids for how in ("exact", "close")
    )
    same = (exact[:, :, None] == near[:, None, :]).any(dim=2).double().mean()
    assert float(same) >= 0.95

"""Egos where edges have directions or weights, against the dense inverse."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex, NearbyEgos, PageRank, Structure, find_egos, top_k_pagerank
from fairgear.egos.batches import unpack
from fairgear.egos.flood import dry, level_arcs
from fairgear.errors import GraphError
from fairgear.graph import directed_edges, undirected_edges
from tests.egos.plain import overlap
from tests.graphs import linked_graph

Floats = NDArray[np.float64]
N = 900
KINDS = ["directed", "sparse", "weighted", "both", "acyclic", "stars", "bow"]


@cache
def links(kind: str) -> tuple[Tensor, Tensor | None, bool]:
    """Edges, weights and whether they are arcs."""
    rng = np.random.default_rng(KINDS.index(kind))
    count = N if kind == "sparse" else 4 * N
    pairs = torch.from_numpy(rng.integers(0, N, (2, count)))
    if kind == "acyclic":
        pairs = torch.stack([pairs.max(dim=0).values, pairs.min(dim=0).values])
    if kind == "bow":
        # A core, those who point into it and those whom it points to.
        part = np.arange(N) % 3
        pairs = pairs[:, torch.from_numpy(part[pairs[0]] <= part[pairs[1]])]
    if kind == "stars":
        # Many who point to the same few, and are told apart by their ids alone.
        pairs = torch.stack([torch.arange(N), torch.arange(N) % 7])
    if kind in ("weighted", "both"):
        weight = torch.from_numpy(np.exp(rng.normal(size=(N, N))))
        if kind == "both":
            edges = directed_edges(pairs, N)
            return edges, weight[edges[0], edges[1]], True
        edges = undirected_edges(pairs, N)
        return edges, (weight + weight.T)[edges[0], edges[1]], False
    return directed_edges(pairs, N), None, True


def walk(kind: str) -> Floats:
    """A D⁻¹: column i has the chances of the step from i."""
    edges, weight, _ = links(kind)
    matrix = np.zeros((N, N))
    matrix[edges[1], edges[0]] = 1.0 if weight is None else weight
    total = matrix.sum(axis=0)
    return np.asarray(np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0))


@cache
def exact(kind: str) -> Floats:
    """The dense inverse."""
    found = np.asarray(0.15 * np.linalg.inv(np.eye(N) - 0.85 * walk(kind)), dtype=np.float64)
    # What cannot be reached is 0, and not what rounding leaves of it.
    reach = nx.DiGraph(map(tuple, links(kind)[0].T.tolist()))
    reach.add_nodes_from(range(N))
    for node in range(N):
        far = np.ones(N, dtype=bool)
        far[[node, *nx.descendants(reach, node)]] = False
        found[far, node] = 0
    return found


def found_of(ids: Tensor, mask: Tensor, scores: Floats) -> float:
    """The share of those who score highest in their rows that are members."""
    agreed = wanted = 0
    for i, row in enumerate(scores):
        best = np.argsort(-row, kind="stable")[: ids.shape[1]]
        best = best[row[best] > 0]
        agreed += len(set(best.tolist()) & set(ids[i][mask[i]].tolist()))
        wanted += len(best)
    return agreed / wanted


@pytest.mark.parametrize("rank_by", ["importance", "visits"])
@pytest.mark.parametrize("kind", KINDS)
def test_members_are_those_of_the_dense_inverse(kind: str, rank_by: str) -> None:
    edges, weight, directed = links(kind)
    scores = exact(kind) if rank_by == "importance" else exact(kind).T
    egos = find_egos(
        Structure.of(edges, N, edge_weight=weight, directed=directed), PageRank(rank_by=rank_by)
    )
    assert overlap(egos.ids, egos.mask, scores) >= 0.999
    if kind != "stars":
        # Row and column are not the same thing, or this test could not tell them apart.
        assert found_of(egos.ids, egos.mask, scores.T) < 0.99
    if kind not in ("acyclic", "stars", "bow"):
        # There, many scores are equal that no symmetry explains.
        assert egos.uncertified.float().mean() < 0.05
    for i in torch.nonzero(~egos.uncertified).flatten().tolist():
        row = scores[i].copy()
        inside = egos.ids[i][egos.mask[i]].numpy()
        assert (row[inside] > 0).all()
        last = row[inside[1:]].min(initial=np.inf)
        row[inside] = 0.0
        if egos.mask[i].all():
            assert row.max() <= last * (1 + 1e-12) + 1e-18
        else:
            assert row.max() == 0


@pytest.mark.parametrize("kind", ["directed", "both", "bow", "sparse"])
def test_chances_to_end_near_the_core_are_those_of_the_dense_inverse(kind: str) -> None:
    edges, weight, directed = links(kind)
    structure = Structure.of(edges, N, edge_weight=weight, directed=directed)
    graph = nx.DiGraph(map(tuple, edges.T.tolist()))
    core = max(nx.strongly_connected_components(graph), key=len)
    one = next(iter(core))
    near = np.array([*nx.ancestors(graph, one), one])
    expected = exact(kind)[near].sum(axis=0)
    found = structure.ending(0.15)
    assert np.abs(found - expected).max() < 1e-12
    assert set(np.flatnonzero(found).tolist()) == set(near.tolist())


def test_what_is_level_is_settled_at_once_to_the_same_scores() -> None:
    edges, _, _ = links("bow")
    structure = Structure.of(edges, N, directed=True)
    rng = np.random.default_rng(1)
    nodes = np.arange(N, dtype=np.int32)
    flood = dry(N)
    flood = (*flood[:3], nodes, *flood[4:])
    residual, settled = flood[0], flood[1]
    residual[:N], settled[:N] = rng.random(N), rng.random(N)
    # Rows of the inverse say what becomes of what is unsettled.
    before = settled[:N] + residual[:N] @ exact("bow")
    level_arcs(flood, structure.ending(0.15))
    after = settled[:N] + residual[:N] @ exact("bow")
    assert np.abs(after - before).max() < 1e-12
    assert abs(residual[:N][structure.ending(0.15) > 0].sum()) < 1e-12
    # Where few are reached, nothing happens.
    residual[30:] = 0.0
    kept = residual.copy()
    level_arcs(flood, structure.ending(0.15))
    assert np.array_equal(residual, kept)


@pytest.mark.parametrize("rank_by", ["importance", "visits"])
def test_power_steps_are_dense_power_steps(rank_by: str) -> None:
    edges, weight, directed = links("both")
    step = walk("both") if rank_by == "visits" else walk("both").T
    x = np.eye(N)
    for _ in range(10):
        x = 0.15 * np.eye(N) + 0.85 * step @ x
    ids, mask = top_k_pagerank(
        edges, N, rank_by=rank_by, steps=10, edge_weight=weight, directed=directed
    )
    assert overlap(ids, mask, x.T) >= 0.999


def test_close_members_are_nearly_the_exact_ones() -> None:
    edges, weight, directed = links("both")
    ids, mask = top_k_pagerank(edges, N, precision="close", edge_weight=weight, directed=directed)
    assert overlap(ids, mask, exact("both")) >= 0.98


def test_unit_weights_and_twin_arcs_change_no_ego() -> None:
    edges = undirected_edges(links("directed")[0], N)
    plain, mask = top_k_pagerank(edges, N)
    for options in (
        {"directed": True},
        {"edge_weight": torch.full((edges.shape[1],), 3.0)},
    ):
        ids, other = top_k_pagerank(edges, N, **options)
        assert torch.equal(mask, other)
        same = (ids.sort(dim=1).values == plain.sort(dim=1).values).all(dim=1)
        assert float(same.float().mean()) > 0.999


@pytest.mark.parametrize(("directed", "weighted"), [(True, False), (True, True), (False, True)])
def test_an_index_keeps_directions_and_follows_the_ids(directed: bool, weighted: bool) -> None:
    graph = linked_graph(80, 300, directed=directed, weighted=weighted)
    index = EgoIndex.build(graph, 8)
    arcs = set(map(tuple, graph.edge_index.T.tolist()))
    bits = unpack(index.adjacency)
    for members, mask, linked in zip(index.ids, index.mask, bits, strict=True):
        for a in range(8):
            for b in range(8):
                both = bool(mask[a] & mask[b])
                expected = both and (int(members[b]), int(members[a])) in arcs
                assert bool(linked[a, b]) == expected
    order = torch.randperm(80, generator=torch.Generator().manual_seed(0))
    moved = EgoIndex.build(graph.permute(order), 8)
    assert torch.equal(order[moved.ids.long()], index.ids[order].long())
    assert torch.equal(moved.adjacency, index.adjacency[order])
    assert moved.uncertified == index.uncertified


def test_worlds_of_few_people_are_refused() -> None:
    graph = linked_graph(40, 100, directed=True, weighted=False)
    with pytest.raises(GraphError, match="directions or weights"):
        NearbyEgos(graph.canonical)


def test_keys_tell_directions_and_weights() -> None:
    graph = linked_graph(40, 100, directed=False, weighted=True)
    others: list[SensitiveGraph] = [
        graph,
        graph.replace(edge_weight=None),
        graph.replace(directed=True),
    ]
    assert len({EgoIndex.key_of(one, k=5) for one in others}) == 3

from __future__ import annotations

import numpy as np
import pytest
from torch import Tensor

from fairgear.egos import push, ranking
from fairgear.egos.flood import basin, dry, level, spill, sweep
from fairgear.egos.structure import Structure
from tests.egos.plain import (
    Floats,
    complete,
    dense_pagerank,
    path,
    random_edges,
    scale_free_edges,
    similarity_edges,
    star,
)

N = 300
EDGES = {"random": random_edges(N, 900, 0), "scale-free": scale_free_edges(N, 2, 1)}


def pushed(
    structure: Structure,
    node: int,
    threshold: float,
    relaxation: float = 1.0,
    once: bool = False,
) -> tuple[Floats, Floats]:
    """Settled and residual parts as dense vectors."""
    state = push.make(16)
    push.begin(state, node, int(structure.degrees[node]))
    state, count, followed = push.push(
        structure.arrays,
        0.15,
        relaxation,
        threshold,
        10**9,
        once,
        state,
        1,
    )
    assert followed > 0
    assert count > 8, "the table has grown"
    flood = dry(structure.num_nodes)
    spill(state[0], state[1], state[2][:count], flood)
    return flood[1][: structure.num_nodes], flood[0][: structure.num_nodes]


@pytest.mark.parametrize("relaxation", [1.0, 1.3])
@pytest.mark.parametrize("threshold", [1e-3, 1e-6])
@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
def test_settled_and_residual_make_up_the_exact_value(
    edges: Tensor, threshold: float, relaxation: float
) -> None:
    structure = Structure.of(edges, N)
    exact = dense_pagerank(edges, N)
    for node in np.flatnonzero(structure.degrees)[:10]:
        settled, residual = pushed(structure, int(node), threshold, relaxation)
        np.testing.assert_allclose(settled + exact @ residual, exact[:, node], atol=1e-14)
        assert (np.abs(residual) <= threshold * structure.degrees).all()
        error = (exact[:, node] - settled) / np.maximum(structure.degrees, 1)
        assert error.max() <= threshold
        assert error.min() >= (-1e-15 if relaxation == 1.0 else -threshold)


def test_levelling_and_sweeping_keep_the_sum_exact() -> None:
    edges = EDGES["scale-free"]
    structure = Structure.of(edges, N)
    exact = dense_pagerank(edges, N)
    flood = basin(dry(N), structure.component, 0, structure.degrees, structure.twins)
    residual, settled = flood[0][:N], flood[1][:N]
    settled[:], residual[:] = pushed(structure, 5, 1e-3)
    before = np.ptp(residual / structure.degrees)
    level(flood)
    assert abs(residual.sum()) < 1e-14
    np.testing.assert_allclose(settled + exact @ residual, exact[:, 5], atol=1e-14)
    sweep(structure.arrays, 0.15, 1.3, 1e-7, 10**9, flood)
    np.testing.assert_allclose(settled + exact @ residual, exact[:, 5], atol=1e-14)
    assert np.ptp(residual / structure.degrees) <= 2e-7 < before


def test_budget_ends_a_push() -> None:
    structure = Structure.of(EDGES["random"], N)
    hub = int(structure.degrees.argmax())
    for budget in (50, 500):
        state = push.make(16)
        push.begin(state, hub, int(structure.degrees[hub]))
        followed = push.push(
            structure.arrays,
            0.15,
            1.0,
            1e-9,
            budget,
            False,
            state,
            1,
        )[2]
        assert budget < followed <= budget + structure.degrees.max()


def test_twins_are_found_and_only_they() -> None:
    own = np.arange(6)
    leaves = Structure.of(star(5), 6).twins
    assert leaves[:, 0].tolist() == [0, 1, 1, 1, 1, 1]
    assert leaves[:, 1].tolist() == [0, 2, 2, 2, 2, 2]
    linked = Structure.of(complete(6), 6).twins
    assert linked.tolist() == [[0, 1]] * 6
    assert (Structure.of(path(6), 6).twins == own[:, None]).all()
    assert (Structure.of(path(2)[:, :0], 6).twins == own[:, None]).all(), "isolated nodes"


def test_twins_have_equal_neighbours() -> None:
    n = 200
    edges = random_edges(n, 220, 4)
    twins = Structure.of(edges, n).twins
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for a, b in edges.t().tolist():
        neighbours[a].add(b)
    found = 0
    for a in range(n):
        for b in range(a):
            alike = neighbours[a] - {b} == neighbours[b] - {a} and bool(neighbours[a])
            assert (twins[a, 0] == twins[b, 0]) == alike
            found += alike
    assert found > 0


@pytest.mark.parametrize("visits", [False, True])
@pytest.mark.parametrize("threshold", [1e-2, 1e-3, 1e-5])
def test_leading_nodes_are_the_first_places_of_all_scores(threshold: float, visits: bool) -> None:
    edges = similarity_edges(N, 8, 2)
    structure = Structure.of(edges, N)
    assert (structure.twins[:, 0] != np.arange(N)).sum() > 20
    for node in range(0, N, 10):
        state = push.make(16)
        push.begin(state, node, int(structure.degrees[node]))
        state, count, _ = push.push(structure.arrays, 0.15, 1.0, threshold, 10**9, False, state, 1)
        held = (0.15, visits, structure.twins, state, state[2][:count])
        nodes, estimates = ranking.scores(node, *held)[:2]
        for wanted in (1, 9, 400):
            best = nodes[ranking.first_places(node, wanted, estimates, nodes, 0.0, -1.0)]
            assert ranking.leading(node, wanted, *held).tolist() == best.tolist()

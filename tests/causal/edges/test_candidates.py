"""Candidates: no edge that comparing every pair would not give, and an honest count of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgear.causal.edges import candidates, near_lists
from fairgear.causal.edges.candidates import Candidates
from fairgear.causal.edges.kernel import Integers
from fairgear.causal.edges.model import EdgeModel, World
from fairgear.causal.edges.near_lists import NearLists
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.terms import DistanceTerms
from tests.causal.edges.graphs import adjacency_of, people

SPARSE = np.array([-7.5, 9.0, 0.0, -0.6, 0.5])


def case(seed: int, n: int = 300) -> tuple[EdgeModel, World]:
    drawn = people(n, seed, SPARSE)
    model = EdgeModel(DistanceTerms.of(drawn.table, None), SPARSE, SPARSE)
    sens = np.ones_like(drawn.sens)
    return model, World(drawn, drawn.table + 0.3 * (sens - drawn.sens)[:, None], sens)


@pytest.fixture(autouse=True)
def few_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "NEAREST", 4)


def looked_at(model: EdgeModel, world: World) -> NDArray[np.bool_]:
    drawn = world.factual
    matrix = adjacency_of(drawn)
    result = matrix @ matrix > 0
    scaled = world.table * model.terms.scale
    distance = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=-1)
    near = np.argsort(distance, axis=1)[:, :5]
    for i in np.flatnonzero(world.changed):
        result[i, near[i]] = result[near[i], i] = True
    return np.asarray(result)


def test_candidates_give_the_edges_of_every_pair_that_is_one() -> None:
    for seed in range(3):
        model, world = case(seed)
        every, some = model.edges(world, seed), Candidates(model, world).edges(seed)
        keys = world.factual.keys
        exact, found = keys(*every), keys(*some)
        assert np.isin(found, exact).all()
        lost = every[:, ~np.isin(exact, found)]
        assert lost.shape[1] > 0
        assert not world.factual.joined(*lost).any()
        candidate = looked_at(model, world)
        assert not candidate[lost[0], lost[1]].any()


def test_what_is_missed_is_what_was_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    model, world = case(5)
    first, second = np.triu_indices(300, 1)
    apart = ~world.factual.joined(first, second) & ~looked_at(model, world)[first, second]
    exact = model.probability(world, first[apart], second[apart]).sum()
    monkeypatch.setattr(candidates, "_SAMPLED", 60)
    estimate = Candidates(model, world).missed(0)
    assert 0 < estimate.standard_error < 0.2 * exact
    assert abs(estimate.expected - exact) < 4 * estimate.standard_error
    # Everyone asked: nothing is left to chance but the rare pair found from its far end.
    monkeypatch.setattr(candidates, "_SAMPLED", 300)
    assert Candidates(model, world).missed(0).expected == pytest.approx(exact, rel=0.01)


def with_lists(model: EdgeModel, world: World) -> Candidates:
    def all_of(value: int) -> World:
        sens = np.full_like(world.sens, value)
        factual = world.factual
        return World(factual, factual.table + 0.3 * (sens - factual.sens)[:, None], sens)

    return Candidates(model, world, NearLists(model.terms, np.array([0, 1]), all_of, 5))


def test_lists_of_a_large_graph_give_edges_of_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    # Exact search finds the same in the world that the lists are from.
    monkeypatch.setattr(near_lists, "_INEXACT", 0.0)
    for seed in range(3):
        model, world = case(seed)
        assert_same(model, Candidates(model, world).edges(seed), with_lists(model, world), seed)
    rows = np.array([3, 4, 5, 70, 71])
    model, world = case(0)
    lists = with_lists(model, world).lists
    assert lists is not None
    for row, value in ((r, v) for r in rows.tolist() for v in (0, 1)):
        points = lists.world(value).table * model.terms.scale
        known = np.argsort(((points - points[row]) ** 2).sum(axis=1), kind="stable")[:5]
        found = lists.of(np.array([row]), np.array([value]))[0]
        own = world.factual.sens[row] == value
        assert set(found.tolist()) == ({row} if own else set(known.tolist()))


def assert_same(model: EdgeModel, known: Integers, found: Candidates, seed: int) -> None:
    keys = found.world.factual.keys
    assert set(keys(*known).tolist()) == set(keys(*found.edges(seed)).tolist())


def test_what_lists_miss_is_what_was_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    model, world = case(5)
    some = with_lists(model, world)
    assert some.lists is not None
    changed = np.flatnonzero(world.changed)
    matrix = adjacency_of(world.factual)
    seen = matrix @ matrix > 0
    for i, near in zip(changed.tolist(), some.lists.of(changed, world.sens[changed]), strict=True):
        seen[i, near] = seen[near, i] = True
    first, second = np.triu_indices(300, 1)
    apart = ~world.factual.joined(first, second) & ~seen[first, second]
    exact = model.probability(world, first[apart], second[apart]).sum()
    monkeypatch.setattr(candidates, "_SAMPLED_IN_LARGE", 300)
    assert some.missed(0).expected == pytest.approx(exact, rel=1e-9)


def test_hubs_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "HUB", 0)
    model, world = case(6)
    rows = np.flatnonzero(world.changed)
    assert len(Candidates(model, world)._two_steps(rows)[0]) == 0


def test_people_without_features() -> None:
    drawn = people(60, 7)
    bare = Factual(drawn.ids, drawn.order, np.zeros((60, 1)), drawn.sens, drawn.edges)
    model = EdgeModel(DistanceTerms.of(bare.table, None), SPARSE, SPARSE)
    world = World(bare, bare.table, 1 - bare.sens)
    every, some = model.edges(world, 0), Candidates(model, world).edges(0)
    assert np.isin(bare.keys(*some), bare.keys(*every)).all()

"""Candidates: no edge that comparing every pair would not give, and an honest count of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgear.causal.edges import candidates
from fairgear.causal.edges.candidates import Candidates
from fairgear.causal.edges.model import EdgeModel, World
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

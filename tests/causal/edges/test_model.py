"""Abduction: against every pair written out, and against what its probabilities promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.model import EdgeModel, World
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.terms import CosineTerms, DistanceTerms
from fairgear.hashing import pair_uniform
from tests.causal.edges.graphs import (
    BIG,
    adjacency_of,
    alike,
    chances,
    noise,
    people,
    probabilities,
)

STRONG = np.array([-3.0, 5.0, 0.25, -0.8, 0.9])


def model_of(drawn: Factual, theta: Floats = STRONG) -> EdgeModel:
    return EdgeModel(DistanceTerms.of(drawn.table, None), theta, np.ones(len(theta)))


def world_of(drawn: Factual, sens: Integers, shift: float = 0.7) -> World:
    return World(drawn, drawn.table + shift * (sens - drawn.sens)[:, None], sens)


def written_out(model: EdgeModel, world: World) -> Floats:
    """The chance of every pair, over n×n matrices."""
    drawn, weights = world.factual, model.terms.coefficients(model.theta)
    matrix, scale = adjacency_of(drawn), model.terms.scale
    if model.terms.cosine:
        likeness = [t @ t.T for t in (_unit(drawn.table), _unit(world.table))]
    else:
        likeness = [alike(drawn.table, scale), alike(world.table, scale)]
    before = probabilities(matrix, drawn.sens, likeness[0], weights)
    after = probabilities(matrix, world.sens, likeness[1], weights)
    return chances(matrix, before, after)


def _unit(table: Floats) -> Floats:
    result: Floats = table / np.linalg.norm(table, axis=1, keepdims=True)
    return result


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cosine", [False, True])
def test_worlds_are_those_written_out(seed: int, cosine: bool) -> None:
    drawn = people(70, seed)
    if cosine:
        theta = np.array([-3.0, 2.5, 0.7])
        model = EdgeModel(CosineTerms.of(drawn.table, None), theta, theta)
    else:
        model = model_of(drawn)
    random = np.random.default_rng(seed).integers(0, 2, 70)
    for sens in (0 * random, 0 * random + 1, random):
        world = world_of(drawn, sens)
        expected = noise(drawn.ids, seed) < written_out(model, world)
        np.fill_diagonal(expected, False)
        got = model.edges(world, seed)
        assert np.array_equal(
            adjacency_of(Factual(drawn.ids, drawn.order, drawn.table, sens, got)), expected
        )
        assert len(np.unique(drawn.keys(got[0], got[1]))) == got.shape[1]


def test_pairs_of_people_who_stay_never_change_and_an_unchanged_logit_changes_nothing() -> None:
    drawn = people(60, 1)
    stays = np.arange(60) < 30
    sens = np.where(stays, drawn.sens, 1 - drawn.sens)
    first, second = np.triu_indices(60, 1)
    chance = model_of(drawn).probability(world_of(drawn, sens), first, second)
    still = stays[first] & stays[second]
    assert np.array_equal(chance[still], drawn.joined(first, second)[still])
    # Neither likeness nor groups count: people change, no logit does.
    deaf = model_of(drawn, np.array([-2.0, 0.0, 0.5, 0.0, 0.0]))
    assert np.array_equal(
        deaf.probability(world_of(drawn, sens), first, second), drawn.joined(first, second)
    )


def test_people_who_move_alike_keep_their_distance_to_the_last_bit() -> None:
    drawn = people(50, 2)
    whole = Factual(drawn.ids, drawn.order, np.round(8 * drawn.table), drawn.sens, drawn.edges)
    model = model_of(whole, np.array([-2.0, 6.0, 0.0, 0.0, 0.0]))
    # Every one of a group moves by the same amount; the other group stays.
    world = world_of(whole, np.zeros_like(whole.sens), shift=0.37109375)
    first, second = np.triu_indices(50, 1)
    same = whole.sens[first] == whole.sens[second]
    chance = model.probability(world, first, second)
    assert np.array_equal(chance[same], whole.joined(first, second)[same])


def test_frequencies_over_seeds_are_the_chances() -> None:
    drawn = people(40, 3)
    model, world = model_of(drawn), world_of(drawn, 1 - drawn.sens)
    expected = written_out(model, world)
    seeds = 400
    count = np.zeros((40, 40))
    for seed in range(seeds):
        first, second = model.edges(world, seed)
        count[first, second] += 1
    upper = np.triu_indices(40, 1)
    p, got = expected[upper], count[upper]
    sure = (p == 0) | (p == 1)
    assert np.array_equal(got[sure], seeds * p[sure])
    scores = (got - seeds * p)[~sure] / np.sqrt(seeds * p * (1 - p))[~sure]
    assert np.abs(scores).max() < 5.5
    assert np.mean(scores**2) == pytest.approx(1.0, abs=0.2)


def test_a_graph_that_follows_p_becomes_one_that_follows_p_of_the_new_world() -> None:
    base = people(40, 4)
    theta = np.array([-3.0, 5.0, 0.0, -0.8, 0.9])
    weights = model_of(base, theta).terms.coefficients(theta)
    sens = 1 - base.sens
    table = world_of(base, sens).table
    scale = model_of(base).terms.scale
    nobody = np.zeros((40, 40))
    before = probabilities(nobody, base.sens, alike(base.table, scale), weights)
    after = probabilities(nobody, sens, alike(table, scale), weights)
    count, graphs, rng = np.zeros((40, 40)), 600, np.random.default_rng(0)
    for seed in range(graphs):
        edges = np.stack(np.nonzero(np.triu(rng.random((40, 40)) < before, 1)))
        drawn = Factual(base.ids, base.order, base.table, base.sens, edges)
        first, second = model_of(drawn, theta).edges(World(drawn, table, sens), seed)
        count[first, second] += 1
    upper = np.triu_indices(40, 1)
    p, got = after[upper], count[upper]
    scores = (got - graphs * p) / np.sqrt(graphs * p * (1 - p))
    assert np.mean(scores**2) == pytest.approx(1.0, abs=0.2)
    assert abs(scores.mean()) < 4 / np.sqrt(len(scores))
    assert np.abs(scores).max() < 5.5
    assert np.abs(after - before).max() > 0.2


def test_worlds_share_their_noise() -> None:
    drawn = people(80, 5)
    dense, denser = (model_of(drawn, STRONG + np.array([0, 0, 0, up, up])) for up in (0.0, 0.5))
    world = world_of(drawn, np.ones_like(drawn.sens))
    first, second = np.triu_indices(80, 1)
    # Factual logits of pairs 0-0 are the same; a larger p' can only add edges among them.
    zeros = (drawn.sens[first] + drawn.sens[second]) == 0
    less, more = (model.survives(world, first, second, 7)[zeros] for model in (dense, denser))
    assert (less <= more).all()
    assert (less != more).any()


def test_noise_of_pairs_is_uniform_symmetric_and_independent() -> None:
    ids = BIG + np.arange(300)
    first, second = np.triu_indices(300, 1)
    one = pair_uniform(ids[first], ids[second], 0, "edges")
    assert np.array_equal(one, pair_uniform(ids[second], ids[first], 0, "edges"))
    # Ids that a float cannot tell apart have noise of their own.
    assert len(np.unique(one)) == len(one)
    assert stats.kstest(one, "uniform").pvalue > 1e-3
    matrix = noise(ids, 0)
    for other in (pair_uniform(ids[first], ids[second], 1, "edges"), np.roll(one, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(len(one))
    # A person's pairs are no more alike than anyone's.
    means = (matrix.sum(axis=1) - matrix.diagonal()) / 299
    assert means.std() * np.sqrt(12 * 299) == pytest.approx(1.0, abs=0.2)
    assert (pair_uniform(np.array([-5]), np.array([3]), 0) >= 0).all()


def test_negative_ids_are_looked_at_like_any() -> None:
    drawn = people(60, 6)
    moved = Factual(drawn.ids - BIG - 30, drawn.order, drawn.table, drawn.sens, drawn.edges)
    model, world = model_of(moved), world_of(moved, 1 - moved.sens)
    expected = noise(moved.ids, 2) < written_out(model, world)
    np.fill_diagonal(expected, False)
    got = Factual(moved.ids, moved.order, moved.table, moved.sens, model.edges(world, 2))
    assert np.array_equal(adjacency_of(got), expected)

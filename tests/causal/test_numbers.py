"""Causal models of graphs whose sensitive attribute is a number: laws, local worlds, rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import (
    FEATURE_MODELS,
    MIXED,
    CausalModel,
    FittedCausalModel,
    SimilarityCausalModel,
    assigned,
    changed_groups,
)
from fairgear.testing import check_causal_model
from tests.causal.numbers import Slope, aged_graph, aged_table
from tests.graph.test_similarity import brute_force, pairs

Make = Callable[[], CausalModel]
MODELS: dict[str, tuple[Make, Callable[[], SensitiveGraph]]] = {
    "fitted": (lambda: FittedCausalModel(Slope(), gate=False), aged_graph),
    "cosine": (lambda: FittedCausalModel(Slope(), "cosine", gate=False), aged_graph),
    "candidates": (lambda: FittedCausalModel(Slope(), gate=False, exact_up_to=10), aged_graph),
    "fixed": (lambda: FittedCausalModel(Slope(), "fixed"), aged_graph),
    "arcs": (lambda: FittedCausalModel(Slope(), gate=False), lambda: aged_graph(directed=True)),
    "weights": (
        lambda: FittedCausalModel(Slope(), gate=False),
        lambda: aged_graph(weighted=True),
    ),
    "arcs and weights": (
        lambda: FittedCausalModel(Slope(), gate=False),
        lambda: aged_graph(directed=True, weighted=True),
    ),
    "similarity": (lambda: SimilarityCausalModel(Slope()), aged_table),
    "similarity of the nearest": (
        lambda: SimilarityCausalModel(Slope()),
        lambda: aged_table(neighbors=4),
    ),
}


@pytest.fixture(autouse=True)
def slope() -> Iterator[None]:
    """A feature model must have a name to be read from a file."""
    FEATURE_MODELS.add(Slope.name, Slope)
    yield
    del FEATURE_MODELS._entries[Slope.name]


@pytest.mark.parametrize("name", MODELS)
def test_the_laws_hold(name: str) -> None:
    make, graph = MODELS[name]
    assert len(check_causal_model(make, graph())) == 6


@pytest.mark.parametrize("name", MODELS)
def test_the_world_of_few_people_is_the_whole_one(name: str) -> None:
    make, sampled = MODELS[name]
    graph = sampled()
    model, rng, moved = make().fit(graph), np.random.default_rng(0), 0
    for trial in range(20):
        rows = torch.from_numpy(rng.choice(len(graph.x), 1 + trial % 5, replace=False))
        values = changed_groups(graph, rows, seed=trial)
        # Also values that nobody has, within the ages and beyond.
        values = values + (0.0, 0.1, 35.0)[trial % 3]
        sens = graph.sens.clone()
        sens[rows] = values
        local = model.local(graph, rows, values, seed=trial % 2)
        whole = model.counterfactual(graph, sens, seed=trial % 2)
        assert local.graph().fingerprint() == whole.fingerprint()
        moved += local.removed.shape[1] + local.added.shape[1]
    assert moved > 0 or name == "fixed"


@pytest.mark.parametrize("neighbors", [None, 4])
def test_worlds_are_those_of_the_rule_on_the_moved_table(neighbors: int | None) -> None:
    graph = aged_table(90, 3, neighbors)
    model = SimilarityCausalModel(Slope()).fit(graph)
    assert graph.raw is not None
    raw, before = graph.raw.numpy(), graph.sens.numpy()
    for which in (0.0, 4.0, MIXED):
        after = assigned(graph, which, seed=1)
        world = model.counterfactual(graph, after)
        table = raw + (after.numpy() - before)[:, None] * [0.03, 0.06, 0.09]
        table[:, 1] = after.numpy()
        low, high = raw.min(axis=0), raw.max(axis=0)
        x = 2 * (table - low) / (high - low) - 1
        x[:, 1] = after.numpy()
        np.testing.assert_allclose(world.x.numpy(), x, atol=1e-5)
        if neighbors is None:
            assert pairs(world.edge_index) == brute_force(table, 0.7)
        else:
            order = graph.canonical.rows.numpy()
            edges = graph.mechanism.rule.edges(table[order])
            there = torch.from_numpy(order)[edges]
            assert pairs(world.edge_index) == pairs(there)
        assert torch.equal(world.sens, after)
        back = model.counterfactual(world, graph.sens)
        assert back.fingerprint() == graph.fingerprint()


def test_what_is_missed_is_told_for_each_quantile() -> None:
    model = FittedCausalModel(Slope(), gate=False, exact_up_to=10).fit(aged_graph())
    assert list(model._quality()["new_edges_missed"]) == [
        f"quantile {level}" for level in (0.05, 0.25, 0.5, 0.75, 0.95)
    ]

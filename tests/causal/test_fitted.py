"""The fitted causal model: laws, files, what it refuses, and how near the truth it comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgear as fg
from fairgear.causal import (
    CausalModel,
    FittedCausalModel,
    at_random,
    edge_changes,
    flipped,
    for_graph,
)
from fairgear.errors import GraphError, NotFittedError, ParameterError, UnknownNameError
from fairgear.graph import SensitiveGraph
from fairgear.testing import check_causal_model
from tests.causal.edges.graphs import social_graph
from tests.graphs import random_graph

# Sharp enough for an open gate, with edges that move between worlds.
SHARP = np.array([-9.0, 14.0, 0.0, -0.9, 0.8])
KINDS = [
    FittedCausalModel,
    lambda: FittedCausalModel("quantile", gate=False),
    lambda: FittedCausalModel(edges="cosine", gate=False),
    lambda: FittedCausalModel(edges="fixed"),
    lambda: FittedCausalModel(exact_up_to=10),
]
NAMES = ["shift", "quantile", "cosine", "fixed", "candidates"]


@pytest.fixture(scope="module")
def sharp() -> SensitiveGraph:
    return social_graph(150, 1, SHARP)


@pytest.mark.parametrize("make", KINDS, ids=NAMES)
def test_laws(make: type[FittedCausalModel], sharp: SensitiveGraph) -> None:
    assert "relabelling" in check_causal_model(make, sharp)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 40),
    edges=st.integers(0, 120),
    kind=st.sampled_from(["distance", "cosine"]),
)
def test_laws_on_any_graph(seed: int, n: int, edges: int, kind: str) -> None:
    graph = random_graph(n, edges, seed)
    if 0 < int(graph.sens.sum()) < n:
        check_causal_model(lambda: FittedCausalModel(edges=kind, gate=False), graph, seed=seed)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_only_pairs_with_a_changed_end_change(seed: int) -> None:
    graph = social_graph(60, seed % 50, np.array([-4.0, 6.0, 0.0, -1.0, 1.0]))
    model = FittedCausalModel(gate=False).fit(graph)
    asked = at_random(graph, seed=seed)
    world = model.counterfactual(graph, asked, seed=seed)
    changed = asked != graph.sens
    for pairs in edge_changes(graph, world):
        assert bool(changed[pairs].any(dim=0).all())
    assert torch.equal(world.x[~changed], graph.x[~changed])
    assert torch.equal(world.y, graph.y)
    assert torch.equal(world.node_id, graph.node_id)


def test_seeds_give_other_worlds_and_the_same_one_the_same(sharp: SensitiveGraph) -> None:
    model = FittedCausalModel().fit(sharp)
    assert model._quality()["gate_open"]
    worlds = [model.counterfactual(sharp, 1, seed=seed) for seed in (0, 0, 1)]
    assert worlds[0].fingerprint() == worlds[1].fingerprint()
    assert worlds[0].fingerprint("edge_index") != worlds[2].fingerprint("edge_index")
    assert worlds[0].fingerprint("x") == worlds[2].fingerprint("x")


def test_parameters_are_the_same_to_the_bit_in_any_order(sharp: SensitiveGraph) -> None:
    order = torch.randperm(150, generator=torch.Generator().manual_seed(0))
    one, other = (FittedCausalModel().fit(g)._quality() for g in (sharp, sharp.permute(order)))
    assert one == other


def test_one_person_set_moves_that_person_alone(sharp: SensitiveGraph) -> None:
    model = FittedCausalModel().fit(sharp)
    moved = 0
    for node in range(20):
        world = model.counterfactual(sharp, flipped(sharp, node))
        for pairs in edge_changes(sharp, world):
            assert bool((pairs == node).any(dim=0).all())
            moved += pairs.shape[1]
    assert moved > 0


def test_a_closed_gate_holds_edges_and_says_so() -> None:
    graph = random_graph(60, 300)
    model = FittedCausalModel().fit(graph)
    told = model.diagnostics()
    assert not told.quality["gate_open"]
    assert any("Edges are held fixed: the AUC on held-out pairs" in note for note in told.notes)
    assert all(effect.edges_added + effect.edges_removed == 0 for effect in told.effects)
    world = model.counterfactual(graph, 1)
    assert torch.equal(world.edge_index, graph.edge_index)
    assert not torch.equal(world.x, graph.x)
    opened = FittedCausalModel(gate=False).fit(graph)
    assert any("the gate was turned off" in note for note in opened.diagnostics().notes)
    assert not torch.equal(opened.counterfactual(graph, 1).edge_index, graph.edge_index)


def test_diagnostics_have_parameters_with_intervals(sharp: SensitiveGraph) -> None:
    quality = FittedCausalModel().fit(sharp).diagnostics().to_dict()["quality"]
    assert set(quality["parameters"]) == {
        "intercept",
        "likeness",
        "degree",
        "groups 0-1",
        "groups 1-1",
    }
    for name, truth in zip(quality["parameters"], SHARP, strict=True):
        found = quality["parameters"][name]
        width = found["high"] - found["low"]
        assert found["low"] - width / 2 < truth < found["high"] + width / 2, name


@pytest.mark.parametrize("make", KINDS, ids=NAMES)
def test_files_keep_quality_gate_and_worlds(
    make: type[FittedCausalModel], sharp: SensitiveGraph, tmp_path: Path
) -> None:
    model = make().fit(sharp)
    model.save(tmp_path / "model")
    loaded = CausalModel.load(tmp_path / "model")
    assert isinstance(loaded, FittedCausalModel)
    assert loaded._quality() == model._quality()
    assert loaded.notes == model.notes
    assert vars(loaded).keys() == (vars(model).keys() - {"_fitted"}) | {"_restored"}
    for name in ("features", "edges", "gate", "exact_up_to", "seed"):
        assert getattr(loaded, name) == getattr(model, name)
    for sens in (0, 1):
        got = loaded.counterfactual(sharp, sens, seed=3)
        assert got.fingerprint() == model.counterfactual(sharp, sens, seed=3).fingerprint()


def test_a_graph_edited_in_place_is_seen_anew(sharp: SensitiveGraph) -> None:
    model = FittedCausalModel().fit(sharp)
    model.counterfactual(sharp, 0)
    edited = sharp.replace(x=sharp.x.clone())
    model.counterfactual(edited, 0)
    edited.x[:, 1] += 1
    assert torch.equal(model.counterfactual(edited, edited.sens).x, edited.x)
    moved = edited.sens == 1
    difference = model.counterfactual(edited, 0).x[moved] - model.counterfactual(sharp, 0).x[moved]
    torch.testing.assert_close(difference[:, 1], torch.ones(int(moved.sum())))


def test_features_come_near_the_exact_ones_on_the_synthetic_graph() -> None:
    shares = []
    for seed in range(3):
        graph = fg.datasets.load("synthetic", seed=seed)
        exact = for_graph(graph)
        bare = graph.replace(mechanism=None, latent=None)
        model = FittedCausalModel(edges="fixed").fit(bare)
        for sens in (0, 1):
            truth = exact.counterfactual(graph, sens).x.double()
            got = model.counterfactual(bare, sens).x.double()
            moved = torch.linalg.norm(truth - graph.x.double())
            shares.append(float(torch.linalg.norm(got - truth) / moved))
    assert max(shares) < 0.10
    assert np.mean(shares) < 0.07


def test_for_graph_fits_where_nothing_is_known(sharp: SensitiveGraph) -> None:
    assert isinstance(for_graph(sharp), FittedCausalModel)
    graph = fg.datasets.load("synthetic", n=200)
    assert not isinstance(for_graph(graph), FittedCausalModel)
    assert isinstance(for_graph(graph.replace(mechanism=None)), FittedCausalModel)


def test_a_world_forgets_what_made_the_factual_graph() -> None:
    graph = fg.datasets.load("synthetic", n=200)
    model = FittedCausalModel(edges="fixed").fit(graph)
    assert model.counterfactual(graph, 0).mechanism is None
    assert model.counterfactual(graph, graph.sens).mechanism is graph.mechanism


def test_errors(sharp: SensitiveGraph) -> None:
    with pytest.raises(ParameterError, match="distance, cosine, fixed"):
        FittedCausalModel(edges="cosin")
    with pytest.raises(UnknownNameError, match="shift"):
        FittedCausalModel("shfit")
    with pytest.raises(ParameterError, match="seed"):
        FittedCausalModel(seed=-1)
    with pytest.raises(NotFittedError, match="never fitted"):
        FittedCausalModel().counterfactual(sharp, 0)
    x = sharp.x.clone()
    x[:, 0] = 0
    with pytest.raises(GraphError, match="nobody in group 1"):
        for_graph(sharp.replace(x=x, sens=torch.zeros_like(sharp.sens)))
    model = FittedCausalModel().fit(sharp)
    fewer = sharp.replace(x=sharp.x[:, :3], feature_names=["x0", "x1", "x2"])
    with pytest.raises(GraphError, match="3 columns, not 4"):
        model.counterfactual(fewer, 0)
    with pytest.raises(GraphError, match="'age' as column 2, not 'x2'"):
        model.counterfactual(sharp.replace(feature_names=["x0", "x1", "age", "x3"]), 0)
    with pytest.raises(GraphError, match="column None, not 0"):
        model.counterfactual(sharp.replace(sens_column=None), 0)
    with pytest.raises(GraphError, match="each 0 or 1"):
        model.counterfactual(sharp, 2)

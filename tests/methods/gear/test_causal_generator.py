from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import Gear, SensitiveGraph
from fairgear.causal import (
    SimilarityCausalModel,
    SyntheticSettings,
    at_random,
    flipped,
    for_graph,
    sample,
)
from fairgear.causal.interventions import released_world
from fairgear.egos import EgoIndex
from fairgear.errors import ParameterError
from fairgear.graph import split
from fairgear.methods import load_model
from fairgear.methods.egos import Ego, neighbor_perturbed, self_perturbed
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.generator import CausalGenerator
from tests.auditing.models import measure
from tests.causal.test_laws import table_graph
from tests.methods.gear.tiny import tiny

K = 6


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    strong = SyntheticSettings(n=150, d_z=8, d=4, a=0.2, w_s=4.0, threshold=0.7)
    return split(sample(strong, seed=3))


class Setup:
    """A generator of the exact model, and all egos of the graph."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self.scaler = FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph)
        self.index = EgoIndex.build(graph, K)
        self.model = for_graph(graph)
        self.generator = CausalGenerator(self.model, graph, self.index, self.scaler)
        batch = self.index.batch(torch.arange(len(graph.x)), self.scaler(graph))
        self.ego = Ego.of(batch, graph.sens)
        self.full = torch.ones(len(graph.x))


@pytest.fixture(scope="module")
def setup(graph: SensitiveGraph) -> Setup:
    return Setup(graph)


def test_self_perturbed_egos_are_those_of_the_persons_own_world(
    graph: SensitiveGraph, setup: Setup
) -> None:
    after = setup.generator.counterfactual(setup.ego, self_perturbed(setup.ego), setup.full)
    moved = wrong = 0
    for person in range(len(graph.x)):
        world = setup.model.counterfactual(graph, flipped(graph, person))
        expected = setup.index.in_world(world).batch(torch.tensor([person]), setup.scaler(world))
        assert torch.allclose(after.x[person], expected.x[0], atol=1e-6)
        moved += int((expected.adjacency[0] != setup.ego.adjacency[person]).sum())
        wrong += int((expected.adjacency[0] != after.adjacency[person]).sum())
    # A link between people of different values is looked up in vain once in sixteen times.
    assert moved > 100
    assert wrong < 0.15 * moved


def test_links_asked_for_in_a_world_that_is_known_are_that_worlds(
    graph: SensitiveGraph, setup: Setup
) -> None:
    for draw in range(2):
        sens = at_random(graph, draw=draw)
        world = setup.model.counterfactual(graph, sens)
        expected = setup.index.in_world(world).batch(
            torch.arange(len(graph.x)), setup.scaler(world)
        )
        asked = expected.gather(sens)
        after = setup.generator.counterfactual(setup.ego, asked, setup.full)
        assert torch.allclose(after.x, expected.x, atol=1e-6)
        assert torch.equal(after.adjacency, expected.adjacency)
        assert torch.equal(after.sens, asked)


def test_nothing_asked_nothing_changed_and_no_dose_no_change(setup: Setup) -> None:
    same = setup.generator.counterfactual(setup.ego, setup.ego.sens, setup.full)
    assert torch.equal(same.x, setup.ego.x)
    assert torch.equal(same.adjacency, setup.ego.adjacency)
    asked = neighbor_perturbed(setup.ego)
    none = setup.generator.counterfactual(setup.ego, asked, 0 * setup.full)
    assert torch.equal(none.x, setup.ego.x)
    assert torch.equal(none.adjacency, setup.ego.adjacency)


def test_half_a_dose_goes_half_the_way_and_takes_half_of_the_links(setup: Setup) -> None:
    torch.manual_seed(0)
    asked = self_perturbed(setup.ego)
    full = setup.generator.counterfactual(setup.ego, asked, setup.full)
    half = setup.generator.counterfactual(setup.ego, asked, setup.full / 2)
    assert torch.allclose(half.x, (full.x + setup.ego.x) / 2, atol=1e-6)
    assert torch.equal(half.adjacency, half.adjacency.transpose(1, 2))
    changed = full.adjacency != setup.ego.adjacency
    taken = half.adjacency != setup.ego.adjacency
    assert not (taken & ~changed).any()
    assert 0.35 < float(taken.sum() / changed.sum()) < 0.65


def data_of(kind: str, graph: SensitiveGraph) -> SensitiveGraph:
    """A graph whose causal model is exact, runs a similarity rule, or is fitted."""
    if kind == "similarity":
        return table_graph(200)
    return graph if kind == "exact" else graph.replace(mechanism=None, latent=None)


def notes(model: object, data: SensitiveGraph, **options: Any) -> str:
    return " ".join(measure(model, data, draws=1, self_people=0, **options).notes)


@pytest.mark.parametrize("kind", ["exact", "similarity", "fitted"])
def test_gear_trains_with_a_causal_model_and_says_so(
    kind: str, graph: SensitiveGraph, tmp_path: Path
) -> None:
    data = data_of(kind, graph)
    gear = tiny(augmentation="causal").fit(data)
    assert gear.causal_model_ == for_graph(data).fingerprint()
    assert isinstance(gear.generator(), CausalGenerator)
    assert "generator" not in gear.history_
    gear.save(tmp_path / "model")
    back = load_model(tmp_path / "model", device="cpu")
    assert isinstance(back, Gear)
    assert np.array_equal(back.predict_proba(data), gear.predict_proba(data))
    assert back.causal_model_ == gear.causal_model_
    assert "home ground" in notes(back, data)


@pytest.mark.parametrize("kind", ["exact", "similarity"])
def test_an_audit_says_where_a_model_is_on_its_home_ground(
    kind: str, graph: SensitiveGraph, tmp_path: Path
) -> None:
    data = data_of(kind, graph)
    learned, means = (tiny(direction=v).fit(data) for v in ("generator", "means"))
    assert not np.array_equal(means.predict_proba(data), learned.predict_proba(data))
    assert "home ground" not in notes(learned, data)
    means.save(tmp_path / "means")
    said = notes(load_model(tmp_path / "means", device="cpu"), data)
    assert ("home ground" in said) == (kind != "exact")


def test_another_causal_model_gives_another_gear() -> None:
    data = table_graph(200)
    usual = tiny(augmentation="causal").fit(data)
    shift, quantile = (
        tiny(augmentation="causal").fit(data, causal_model=SimilarityCausalModel(kind).fit(data))
        for kind in ("shift", "quantile")
    )
    scores = [model.predict_proba(data) for model in (usual, shift, quantile)]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[1], scores[2])
    other = SimilarityCausalModel("quantile").fit(data)
    assert "home ground" not in notes(shift, data, causal_model=other)
    world = released_world(for_graph(data), data, 1)
    assert usual.predict_proba(world).shape == (200, 2)


@pytest.mark.parametrize("settings", [{}, {"augmentation": "causal", "variant": "np"}])
def test_what_does_not_go_together_is_refused(
    settings: dict[str, Any], graph: SensitiveGraph
) -> None:
    with pytest.raises(ParameterError, match="causal"):
        tiny(**settings).fit(graph, causal_model=for_graph(graph))

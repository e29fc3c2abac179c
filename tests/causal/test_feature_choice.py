"""Which feature model a causal model uses, and whom it learns from."""

from __future__ import annotations

import pytest
import torch

import fairgear as fg
from fairgear.causal import (
    FEATURE_MODELS,
    CausalModel,
    Dosed,
    FeatureSequential,
    FittedCausalModel,
    SimilarityCausalModel,
)
from fairgear.errors import GraphError, UnknownNameError
from fairgear.graph import SensitiveGraph
from tests.causal.test_laws import table_graph

KINDS = (SimilarityCausalModel, FittedCausalModel)
Kind = type[SimilarityCausalModel] | type[FittedCausalModel]


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return table_graph(150, seed=2)


@pytest.mark.parametrize("name", FEATURE_MODELS)
def test_feature_models_have_names(name: str, graph: SensitiveGraph) -> None:
    model = fg.causal.named(name, graph)
    assert isinstance(model, SimilarityCausalModel)
    assert model.features == name
    assert FEATURE_MODELS[name].how in model.notes[0]
    other = fg.causal.named(name, graph.replace(mechanism=None, raw=None))
    assert isinstance(other, FittedCausalModel)
    with pytest.raises(UnknownNameError, match="location-scale"):
        SimilarityCausalModel("locationscale")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_may_be_given_and_is_left_alone(kind: Kind, graph: SensitiveGraph) -> None:
    given = Dosed(FeatureSequential(["b"]), 0.5)
    model = kind(given).fit(graph)
    assert not given.fitted
    assert not given.model.fitted
    assert model.features == "sequential at 0.5"
    assert any("keep their values, as requested: b" in note for note in model.notes)
    world = model.counterfactual(graph, 1)
    assert torch.equal(world.x[:, 2], graph.x[:, 2])
    assert not torch.equal(world.x[:, 0], graph.x[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_learned_from_the_people_given(kind: Kind, graph: SensitiveGraph) -> None:
    people = torch.arange(len(graph.sens)) % 3 > 0
    model = kind().fit(graph, people)
    table = graph.x if kind is FittedCausalModel else graph.raw
    assert table is not None
    part, sens = table[people].double(), graph.sens[people]
    shift = part[sens == 1].mean(dim=0) - part[sens == 0].mean(dim=0)
    learned = torch.from_numpy(model.feature_model._learned["shift"][1])
    assert torch.allclose(learned[[0, 2, 3]], shift[[0, 2, 3]])
    # The order of the people does not matter, and everybody is the default.
    order = torch.randperm(len(people), generator=torch.Generator().manual_seed(0))
    again = kind().fit(graph.permute(order), people[order])
    assert again.fingerprint() == model.fingerprint()
    everybody = kind().fit(graph, torch.ones_like(people)).fingerprint()
    assert everybody == kind().fit(graph).fingerprint() != model.fingerprint()


def test_edges_are_learned_from_the_whole_graph(graph: SensitiveGraph) -> None:
    people = torch.arange(len(graph.sens)) % 3 > 0
    part, whole = (FittedCausalModel().fit(graph, some) for some in (people, None))
    assert part._quality() == whole._quality()


@pytest.mark.parametrize("kind", KINDS)
def test_people_are_a_mask_with_both_groups(kind: Kind, graph: SensitiveGraph) -> None:
    for people in (torch.tensor([True]), torch.ones(len(graph.sens))):
        with pytest.raises(GraphError, match="150 values, each True or False"):
            kind().fit(graph, people)
    model: CausalModel = kind()
    with pytest.raises(GraphError, match="nobody in group 1"):
        model.fit(graph, graph.sens == 0)

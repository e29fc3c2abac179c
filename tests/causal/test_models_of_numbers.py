"""Causal models of graphs whose sensitive attribute is a number: laws, credibility, DoWhy."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import (
    FEATURE_MODELS,
    MIXED,
    CausalModel,
    Diagram,
    DowhyFeatures,
    FeatureSequential,
    FittedCausalModel,
    SimilarityCausalModel,
    assigned,
    changed_groups,
    credibility,
    for_graph,
    frame_of,
    named,
    unsteadiness,
    with_features,
)
from fairgear.graph import Attributes, SimilarityRule, similarity_graph, undirected_edges
from fairgear.testing import check_causal_model
from tests.causal.features.test_along_numbers import COLUMNS, NAMES, people

AGE = Attributes.number("age")


def table_graph(n: int = 150) -> SensitiveGraph:
    table, age, ids = people(n)
    return similarity_graph(
        torch.from_numpy(table),
        None,
        torch.from_numpy(age),
        rule=SimilarityRule(0.7),
        sens_column=1,
        feature_names=list(NAMES),
        node_id=ids,
        attributes=AGE,
    )


def linked_graph(n: int = 150) -> SensitiveGraph:
    table, age, ids = people(n)
    ends = torch.from_numpy(np.random.default_rng(2).integers(0, n, (2, 3 * n)))
    return SensitiveGraph(
        torch.from_numpy(table).float(),
        undirected_edges(ends, n),
        None,
        torch.from_numpy(age),
        sens_column=1,
        feature_names=list(NAMES),
        node_id=ids,
        attributes=AGE,
    )


@pytest.mark.parametrize("features", FEATURE_MODELS)
@pytest.mark.parametrize("make", [table_graph, linked_graph])
def test_the_laws_hold(make: Any, features: str) -> None:
    graph = make()
    kind = SimilarityCausalModel if graph.mechanism is not None else FittedCausalModel
    assert len(check_causal_model(lambda: kind(features), graph)) == 6


@pytest.mark.parametrize("make", [table_graph, linked_graph])
@pytest.mark.parametrize("features", ["shift", "quantile", "sequential"])
def test_one_persons_world_is_the_whole_graphs(make: Any, features: str) -> None:
    graph = make()
    model = with_features(features, graph)
    for row in (3, 77):
        rows = torch.tensor([row])
        value = changed_groups(graph, rows, seed=1) + 0.5
        sens = graph.sens.clone()
        sens[row] = value[0]
        world = model.counterfactual(graph, sens, seed=4)
        local = model.local(graph, rows, value, seed=4)
        assert local.graph().fingerprint() == world.fingerprint()
        assert local.rows.tolist() == [row]


def test_the_model_of_a_graph_and_one_by_name() -> None:
    for graph in (table_graph(), linked_graph()):
        model = for_graph(graph)
        assert "slope of least squares" in model.notes[0]
        world = model.counterfactual(graph, torch.full_like(graph.sens, 30.0))
        assert (world.sens == 30).all()
        assert (world.x[:, 0] != graph.x[:, 0]).any()
        assert "quantiles along the attribute" in named("quantile", graph).notes[0]
    fitted = FittedCausalModel(edges="fixed").fit(linked_graph())
    assert fitted.notes[-1] == "Edges are held fixed, as requested."


def test_edges_of_a_table_follow_the_rule() -> None:
    graph = table_graph()
    model = SimilarityCausalModel().fit(graph)
    sens = assigned(graph, MIXED, seed=1)
    world = model.counterfactual(graph, sens)
    assert graph.raw is not None
    moved = model.feature_model.moved(
        graph.raw.numpy(), graph.sens.numpy(), sens.numpy(), graph.node_id, seed=0
    )
    # By the same rule on the moved table, as a graph of its own.
    again = similarity_graph(
        torch.from_numpy(moved),
        None,
        sens,
        rule=SimilarityRule(0.7),
        sens_column=1,
        feature_names=list(NAMES),
        node_id=graph.node_id,
        attributes=AGE,
    )
    assert torch.equal(world.edge_index, again.edge_index)


def test_two_people_of_one_age_have_equal_edges_at_every_age() -> None:
    """A shift along a line moves everybody of the same age alike."""
    graph = table_graph()
    alike = graph.replace(mechanism=None, raw=None)
    model = FittedCausalModel("shift", "fixed").fit(alike)
    before = torch.full_like(graph.sens, 30.0)
    one = model.counterfactual(alike, before)
    two = model.counterfactual(alike, before + 10)
    change = (two.x - one.x)[:, [0, 2, 3, 7]]
    assert torch.allclose(change, change[:1].expand_as(change), atol=1e-4)


# Credibility.


def known_world(n: int = 2400) -> tuple[SensitiveGraph, SensitiveGraph, SensitiveGraph]:
    """A graph, the truth in which values change hands, and people who do not follow theirs."""
    rng = np.random.default_rng(1)
    sens, noise = rng.normal(size=n), rng.normal(size=(2, n))

    def x_of(s: Any) -> Any:
        first = 1.5 * s + noise[0]
        return torch.from_numpy(np.column_stack([first, 2 * first + np.exp(0.4 * s) * noise[1]]))

    none = torch.empty(2, 0, dtype=torch.int64)
    number = Attributes.number("s")
    graph = SensitiveGraph(
        x_of(sens).float(),
        none,
        None,
        torch.from_numpy(sens),
        feature_names=["first", "second"],
        attributes=number,
        node_id=torch.from_numpy(rng.permutation(n)),
    )
    after = assigned(graph, MIXED)
    return (
        graph,
        graph.replace(x=x_of(after.numpy()).float(), sens=after),
        graph.replace(sens=after),
    )


def test_the_truth_passes_and_people_left_behind_do_not() -> None:
    graph, truth, stayed = known_world()
    found = credibility(graph, {0: truth})
    assert found.auroc == pytest.approx(0.5, abs=0.04)
    assert found.credible
    assert credibility(graph, {0: stayed}).auroc > 0.7
    # The right models pass, and a diagram without an arrow does not.
    after = truth.sens
    for features in ("quantile", "sequential"):
        world = with_features(features, graph).counterfactual(graph, after)
        assert credibility(graph, {0: world}).credible, features
    diagram = Diagram({"first": ["s"], "second": []}, sensitive="s")
    wrong = FittedCausalModel(FeatureSequential(diagram=diagram), "fixed").fit(graph)
    assert not credibility(graph, {0: wrong.counterfactual(graph, after)}).credible


def test_credibility_does_not_depend_on_the_order_of_rows() -> None:
    graph, truth, _ = known_world(500)
    order = torch.randperm(500, generator=torch.Generator().manual_seed(1))
    expected = credibility(graph, {0: truth})
    assert credibility(graph.permute(order), {0: truth.permute(order)}) == expected


def test_maps_from_two_halves_agree_where_many_people_are() -> None:
    """Half of the difference of two halves' maps is about the error of the whole map."""
    table, age, ids = people(6000)
    after = np.random.default_rng(3).permutation(age)
    used = [0, 2]
    for features in ("shift", "quantile"):
        found = []
        for n in (1500, 6000):
            halves = [
                FEATURE_MODELS[features]()
                .fit(table[:n], age[:n], COLUMNS, ids[:n].numpy() % 2 == part)
                .moved(table, age, after, ids, seed=0)
                for part in (0, 1)
            ]
            whole = FEATURE_MODELS[features]().fit(table[:n], age[:n], COLUMNS)
            moved = whole.moved(table, age, after, ids, seed=0)
            of = (one[:, used] for one in (*halves, moved, table))
            found.append(unsteadiness(*of))
        # Half, if an error falls with the root of the number of people.
        assert found[1] < 0.75 * found[0]
        assert found[1] < 0.06


# A model fitted with DoWhy.


def test_a_linear_dowhy_model_of_a_number_is_the_closed_form() -> None:
    gcm: Any = pytest.importorskip("dowhy.gcm")
    rng = np.random.default_rng(0)
    n = 800
    age, noise = rng.uniform(20, 60, n), rng.normal(size=(2, n))
    income = 5 + 0.5 * age + noise[0]
    spend = 2 * income - 0.3 * age + noise[1]
    none = torch.empty(2, 0, dtype=torch.int64)
    graph = SensitiveGraph(
        torch.from_numpy(np.column_stack([age, income, spend])),
        none,
        None,
        torch.from_numpy(age),
        sens_column=0,
        feature_names=["age", "income", "spend"],
        attributes=AGE,
    )
    frame = frame_of(graph)
    edges = [("age", "income"), ("income", "spend"), ("age", "spend")]
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(edges))
    model.set_causal_mechanism("age", gcm.EmpiricalDistribution())
    for name in ("income", "spend"):
        mechanism = gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor())
        model.set_causal_mechanism(name, mechanism)
    gcm.config.disable_progress_bars()
    gcm.fit(model, frame)
    causal: CausalModel = FittedCausalModel(DowhyFeatures(model), "fixed").fit(graph)
    after = torch.from_numpy(rng.permutation(age))
    moved = causal.counterfactual(graph, after).x.double().numpy()
    change = after.numpy() - age
    first = np.linalg.lstsq(np.column_stack([np.ones(n), age]), income, rcond=None)[0]
    design = np.column_stack([np.ones(n), income, age])
    second = np.linalg.lstsq(design, spend, rcond=None)[0]
    assert np.allclose(moved[:, 1], income + first[1] * change, atol=1e-4)
    total = second[1] * first[1] + second[2]
    assert np.allclose(moved[:, 2], spend + total * change, atol=1e-4)
    assert (
        causal.fingerprint()
        == FittedCausalModel(DowhyFeatures(model), "fixed").fit(graph).fingerprint()
    )

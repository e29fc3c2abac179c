from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgear as fg
from fairgear.causal import SimilarityCausalModel, edge_changes, flipped
from fairgear.errors import GraphError, UnknownNameError
from fairgear.graph import SensitiveGraph
from tests.causal.test_laws import table_graph
from tests.graph.test_similarity import brute_force, pairs


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return table_graph(120, seed=4)


def test_worlds_are_those_of_the_rule_on_the_shifted_table(graph: SensitiveGraph) -> None:
    assert graph.raw is not None
    raw, sens = graph.raw.numpy(), graph.sens.numpy()
    shift = raw[sens == 1].mean(axis=0) - raw[sens == 0].mean(axis=0)
    model = fg.causal.for_graph(graph)
    rng = np.random.default_rng(0)
    for after in (np.zeros(120, int), np.ones(120, int), rng.integers(0, 2, 120)):
        moved = raw + (after - sens)[:, None] * shift
        moved[:, 1] = after
        world = model.counterfactual(graph, torch.from_numpy(after))
        assert pairs(world.edge_index) == brute_force(moved, 0.8)
        low, high = raw.min(axis=0), raw.max(axis=0)
        x = 2 * (moved - low) / (high - low) - 1
        x[:, 1] = after
        assert np.allclose(world.x.numpy(), x, atol=1e-6)
        assert torch.equal(world.y, graph.y)


@settings(max_examples=30)
@given(st.integers(0, 119), st.sampled_from(["shift", "quantile"]))
def test_one_person_alone_is_the_whole_rule_too(node: int, features: str) -> None:
    graph = table_graph(120, seed=4)
    model = SimilarityCausalModel(features).fit(graph)
    world = model.counterfactual(graph, flipped(graph, node))
    assert isinstance(world.raw, torch.Tensor)
    table = world.raw.numpy().copy()
    # Undo the scaling of the one row that moved.
    low, high = (end.numpy() for end in (graph.mechanism.scale.low, graph.mechanism.scale.high))
    row = (world.x[node].double().numpy() + 1) / 2 * (high - low) + low
    row[1] = float(world.sens[node])
    table[node] = row
    got, expected = pairs(world.edge_index), brute_force(table, 0.8)
    # float32 features are right to 1e-7 of a column's range: no more than a near tie may differ.
    assert len(got ^ expected) <= 2


def test_a_counterfactual_of_a_counterfactual_leads_back(graph: SensitiveGraph) -> None:
    for features in ("shift", "quantile"):
        model = SimilarityCausalModel(features).fit(graph)
        there = model.counterfactual(graph, 1)
        assert there.fingerprint() != graph.fingerprint()
        assert model.counterfactual(there, graph.sens).fingerprint() == graph.fingerprint()


def test_all_zero_and_all_one_join_the_same_people_under_a_shift(graph: SensitiveGraph) -> None:
    """The two worlds differ by a common shift, under which no distance changes, ties included."""
    model = SimilarityCausalModel().fit(graph)
    zero, one = model.counterfactual(graph, 0), model.counterfactual(graph, 1)
    assert torch.equal(zero.edge_index, one.edge_index)
    assert not torch.equal(zero.edge_index, graph.edge_index)


def test_seeds_move_the_quantile_map_only(graph: SensitiveGraph) -> None:
    shift, quantile = (SimilarityCausalModel(kind).fit(graph) for kind in ("shift", "quantile"))
    worlds = [shift.counterfactual(graph, 1, seed=seed).fingerprint() for seed in (0, 1)]
    assert worlds[0] == worlds[1]
    worlds = [quantile.counterfactual(graph, 1, seed=seed).fingerprint() for seed in (0, 1)]
    assert worlds[0] != worlds[1]


def test_edited_graphs_and_worlds_are_no_ground_to_fit_on(graph: SensitiveGraph) -> None:
    edges = graph.edge_index
    kept = ~((edges[0] == 0) | (edges[1] == 0))
    for changed, what in (
        (graph.replace(edge_index=edges[:, kept]), "edges"),
        (graph.replace(x=graph.x + (torch.arange(4) == 2)), "features"),
        (SimilarityCausalModel().fit(graph).counterfactual(graph, 1), "features"),
    ):
        with pytest.raises(GraphError, match=f"{what} that differ"):
            SimilarityCausalModel().fit(changed)
    with pytest.raises(GraphError, match="does not carry the table"):
        SimilarityCausalModel().fit(graph.replace(raw=None, mechanism=None))
    with pytest.raises(UnknownNameError, match="feature model"):
        SimilarityCausalModel("shfit")


def test_diagnostics_count_what_changed(graph: SensitiveGraph) -> None:
    model = SimilarityCausalModel().fit(graph)
    found = model.diagnostics()
    assert [effect.intervention for effect in found.effects] == ["all 0", "all 1", "half"]
    world = model.counterfactual(graph, 0)
    before, after = pairs(graph.edge_index), pairs(world.edge_index)
    zero = found.effects[0]
    assert zero.edges_added == len(after - before) // 2
    assert zero.edges_removed == len(before - after) // 2
    assert zero.people_set == zero.people_moved == float((graph.sens == 1).double().mean())
    assert zero.after.edges == len(after) // 2
    degree = np.bincount([i for i, _ in after], minlength=120)
    assert zero.after.degree_mean == pytest.approx(degree.mean())
    assert zero.after.degree_quantiles[-1] == degree.max()
    assert zero.after.isolated == (degree == 0).sum()
    same = np.mean([graph.y[i] == graph.y[j] for i, j in after])
    assert zero.after.label_homophily == pytest.approx(same)
    added, removed = edge_changes(graph, world)
    assert pairs(torch.cat([added, added.flip(0)], dim=1)) == after - before
    assert pairs(torch.cat([removed, removed.flip(0)], dim=1)) == before - after
    assert found.to_dict()["model"] == "similarity"
    assert len(found.to_frame()) == 3

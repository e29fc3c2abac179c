"""Several groups: worlds against brute force, maps that lead back, edges by pair of groups."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairgear import SensitiveGraph
from fairgear.causal import (
    FEATURE_MODELS,
    MIXED,
    FittedCausalModel,
    SyntheticCausalModel,
    SyntheticSettings,
    assigned,
    at_random,
    changed_groups,
    for_graph,
    sample,
    whole_graph,
    with_group,
)
from fairgear.causal.edges.terms import DistanceTerms, pair_of_groups
from fairgear.causal.features import Columns
from fairgear.errors import GraphError
from fairgear.graph import Attribute, Attributes, open_stored, undirected_edges, write_stored
from fairgear.graph.attributes import MOST_GROUPS, largest_groups, other_groups
from fairgear.testing import check_causal_model

SETTINGS = SyntheticSettings(n=60, d_z=8, d=4, threshold=0.3, a=0.2, groups=3)


@pytest.fixture(scope="module")
def three() -> SensitiveGraph:
    return sample(SETTINGS, seed=2)


def test_the_sample_has_every_group_and_their_own_directions(three: SensitiveGraph) -> None:
    assert three.sens_kind == "categorical"
    assert three.num_groups == 3
    assert set(three.sens.tolist()) == {0, 1, 2}
    mechanism, z = three.mechanism, three.latent
    assert z is not None
    seen = z[:, mechanism.columns]
    for group, v in enumerate(mechanism.v):
        rows = three.sens == group
        expected = (seen[rows] + v).float()
        assert torch.equal(three.x[rows][:, 1:], expected)
    assert not mechanism.v[0].any()


def brute_force(
    graph: SensitiveGraph, sens: torch.Tensor
) -> tuple[NDArray[np.float64], set[tuple[int, int]], list[int]]:
    """The equations person by person and pair by pair."""
    m, s, n = graph.mechanism, sens.tolist(), len(graph.x)
    assert graph.latent is not None
    z, groups = graph.latent[:, : SETTINGS.d_z].numpy(), SETTINGS.groups
    x = np.array([[s[i], *(z[i, m.columns] + m.v[s[i]].numpy())] for i in range(n)])
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    edges = {
        (i, j)
        for i, j in itertools.permutations(range(n), 2)
        if unit[i] @ unit[j] + SETTINGS.a * (s[i] == s[j]) >= SETTINGS.threshold
    }
    y = []
    for i in range(n):
        around = [s[i], *(s[j] for a, j in edges if a == i)]
        score = z[i] @ m.w.numpy() + SETTINGS.w_s * np.mean(around) / (groups - 1)
        y.append(int(score > m.label_threshold))
    return x, edges, y


@pytest.mark.parametrize("which", [0.0, 1.0, 2.0, MIXED])
def test_worlds_are_those_of_the_equations(three: SensitiveGraph, which: float) -> None:
    sens = assigned(three, which, seed=4)
    world = SyntheticCausalModel().fit(three).counterfactual(three, sens)
    x, edges, y = brute_force(three, sens)
    np.testing.assert_allclose(world.x.numpy(), x, atol=1e-5)
    assert {tuple(pair) for pair in world.edge_index.t().tolist()} == edges
    assert world.y.tolist() == y


def test_whole_graph_interventions(three: SensitiveGraph) -> None:
    assert whole_graph(three) == (0.0, MIXED, 1.0, 2.0)
    assert torch.bincount(assigned(three, MIXED)).tolist() == [20, 20, 20]
    drawn = torch.stack([at_random(three, draw=draw) for draw in range(300)])
    share = torch.bincount(drawn.flatten(), minlength=3) / drawn.numel()
    # 18,000 draws: four standard deviations are .014.
    assert (share - 1 / 3).abs().max() < 0.014


def test_many_groups_are_set_to_the_largest() -> None:
    rng = np.random.default_rng(0)
    sens = rng.integers(0, 30, 2000)
    counts = np.bincount(sens)
    found = largest_groups(sens, 30)
    assert len(found) == MOST_GROUPS
    assert min(counts[found]) >= max(np.delete(counts, found))


@given(st.integers(2, 9), st.integers(0, 8), st.floats(0, 1, exclude_max=True))
@settings(max_examples=60, deadline=None)
def test_another_group_is_another_and_each_is_possible(m: int, own: int, noise: float) -> None:
    own %= m
    (found,) = other_groups(np.array([own]), np.array([noise]), m)
    assert 0 <= found < m
    assert found != own
    grid = (np.arange(m - 1) + 0.5) / (m - 1)
    reached = set(other_groups(np.full(m - 1, own), grid, m).tolist())
    assert reached == set(range(m)) - {own}


def test_another_group_of_two_is_the_other() -> None:
    sens, noise = np.array([0, 1, 1, 0]), np.array([0.0, 0.3, 0.999999, 0.7])
    assert other_groups(sens, noise, 2).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("name", list(FEATURE_MODELS))
def test_feature_models_move_a_group_onto_another(name: str) -> None:
    """Means of moved people are those of their new group; nobody else moves."""
    rng = np.random.default_rng(5)
    sens = rng.integers(0, 3, 1500)
    table = rng.normal(size=(1500, 3)) * (1 + sens)[:, None] + 2.0 * sens[:, None]
    model = FEATURE_MODELS[name]().fit(table, sens, Columns.unnamed(3))
    ids = torch.arange(1500)
    for target in range(3):
        after = np.full_like(sens, target)
        moved = model.moved(table, sens, after, ids, seed=0)
        assert np.array_equal(moved[sens == target], table[sens == target])
        for group in {0, 1, 2} - {target}:
            gap = moved[sens == group].mean(axis=0) - table[sens == target].mean(axis=0)
            # A tenth of the target's spread; groups are two apart.
            assert np.abs(gap).max() < 0.1 * (1 + target) + 0.05


@pytest.mark.parametrize("name", [n for n in FEATURE_MODELS if FEATURE_MODELS[n].composes])
def test_maps_compose(name: str) -> None:
    rng = np.random.default_rng(6)
    sens = rng.integers(0, 3, 300)
    table = rng.normal(size=(300, 3)) * (1 + sens)[:, None]
    model = FEATURE_MODELS[name]().fit(table, sens, Columns.unnamed(3))
    ids = torch.arange(300)

    def to(rows: NDArray[Any], before: NDArray[Any], step: int) -> NDArray[Any]:
        return model.moved(rows, before, (before + step) % 3, ids, seed=0)

    twice = to(to(table, sens, 1), (sens + 1) % 3, 1)
    np.testing.assert_allclose(twice, to(table, sens, 2), atol=1e-9)
    np.testing.assert_allclose(to(twice, (sens + 2) % 3, 1), table, atol=1e-9)


def test_pairs_of_groups_are_numbered_once() -> None:
    pairs = [(a, b) for b in range(5) for a in range(b + 1)]
    first, second = np.array(pairs).T
    assert pair_of_groups(first, second).tolist() == list(range(15))
    assert pair_of_groups(second, first).tolist() == list(range(15))
    # Two groups: what s_i + s_j was.
    assert pair_of_groups(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("groups", [2, 3, 5, 7])
def test_edge_levels_are_read_as_they_are_fitted(groups: int) -> None:
    """The logit of the coefficients is the design times θ, for every pair of groups."""
    terms = DistanceTerms(np.array([0]), np.ones(1), groups)
    rng = np.random.default_rng(groups)
    theta = rng.normal(size=len(terms.parameters))
    first, second = np.array([(a, b) for b in range(groups) for a in range(b + 1)]).T
    alike, activity = rng.random((2, len(first)))
    pairs = pair_of_groups(first, second)
    found = terms.coefficients(theta)
    level = np.array(found.groups)[pairs]
    logit = found.intercept + found.slope * alike + found.degree * activity + level
    np.testing.assert_allclose(terms.design(alike, activity, pairs) @ theta, logit)


def homophilous(n: int = 300) -> SensitiveGraph:
    """Three groups; two thirds of the edges within groups."""
    rng = np.random.default_rng(8)
    sens = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 3)) + 0.5 * sens[:, None]
    pairs = rng.integers(0, n, (2, 12 * n))
    keep = (sens[pairs[0]] == sens[pairs[1]]) | (rng.random(12 * n) < 0.2)
    edges = undirected_edges(torch.from_numpy(pairs[:, keep]), n)
    return SensitiveGraph(
        torch.from_numpy(x).float(), edges, None, torch.from_numpy(sens), sens_kind="categorical"
    )


def test_fitted_edges_follow_several_groups() -> None:
    """In a world of one group, more pairs are within it, so there are more edges."""
    graph = homophilous()
    model = FittedCausalModel(gate=False).fit(graph)
    found = model._quality()["parameters"]
    same = [found[f"groups {g}-{g}"]["value"] for g in (1, 2)]
    apart = [found[name]["value"] for name in ("groups 0-1", "groups 0-2", "groups 1-2")]
    # A pair within a group is five times as likely: log 5 is 1.6.
    assert min(same) - max(apart) > 1.0
    for group in range(3):
        world = model.counterfactual(graph, group)
        assert world.num_undirected_edges > 1.5 * graph.num_undirected_edges


def test_laws_hold_and_the_world_of_one_person_is_local() -> None:
    graph = homophilous(120)
    check_causal_model(lambda: FittedCausalModel(gate=False), graph)
    model = FittedCausalModel(gate=False)
    rows = torch.tensor([5])
    target = changed_groups(graph, rows)
    local = model.fit(graph).local(graph, rows, target)
    whole = model.counterfactual(graph, with_group(graph, 5, int(target)))
    made = local.graph()
    assert torch.equal(made.x, whole.x)
    assert torch.equal(made.edge_index, whole.edge_index)


def test_values_beyond_the_groups_are_refused(three: SensitiveGraph) -> None:
    model = for_graph(three)
    with pytest.raises(GraphError, match="each 0 to 2"):
        model.counterfactual(three, 3)
    with pytest.raises(GraphError, match="0 to 2"):
        three.replace(sens=three.sens + 1)


def test_crossed_attributes_number_the_groups_that_exist() -> None:
    race, sex = Attribute("race", ("a", "b")), Attribute("sex", ("f", "m"))
    codes = np.array([[0, 0], [1, 1], [0, 0], [1, 0]])
    found, sens = Attributes.crossed([race, sex], codes)
    assert found.names == ("a, f", "b, f", "b, m")
    assert sens.tolist() == [0, 2, 0, 1]
    assert np.array_equal(found.codes(sens), codes)
    assert Attributes.from_dict(found.to_dict()) == found
    with pytest.raises(GraphError, match="different groups"):
        Attributes((race,), ((0,), (0,)))


def test_stored_graphs_keep_the_groups(three: SensitiveGraph, tmp_path: object) -> None:
    folder = f"{tmp_path}/stored"
    write_stored(three.replace(mechanism=None, latent=None), folder)
    back = open_stored(folder)
    assert back.attributes == three.attributes
    assert torch.equal(back.sens, three.sens)


def test_weights_follow_several_groups_and_keep_every_law() -> None:
    graph = homophilous(120)
    first, second = graph.sens[graph.edge_index]
    ends = torch.from_numpy(np.random.default_rng(1).normal(size=(120, 120)))
    noise = (ends + ends.T)[graph.edge_index[0], graph.edge_index[1]]
    weighted = graph.replace(edge_weight=torch.exp((first == second) + 0.2 * noise))
    check_causal_model(lambda: FittedCausalModel(gate=False), weighted)
    model = FittedCausalModel(gate=False).fit(weighted)
    assert model._links is not None
    law = model._links.weights
    assert law is not None
    found = dict(zip(law.terms.parameters, law.theta.tolist(), strict=True))
    # Those of one group weigh e times as much; 0-0 is the reference.
    assert abs(found["groups 1-1"]) < 0.15
    assert abs(found["groups 0-2"] + 1) < 0.15
    world = model.counterfactual(weighted, 1)
    assert world.edge_weight is not None
    assert weighted.edge_weight is not None
    assert world.edge_weight.log().mean() > weighted.edge_weight.log().mean() + 0.2


def test_edges_with_directions_follow_several_groups_if_asked() -> None:
    graph = homophilous(120)
    one_way = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    directed = graph.replace(edge_index=one_way, directed=True)
    model = FittedCausalModel(gate=False).fit(directed)
    assert not torch.equal(model.counterfactual(directed, 1).edge_index, directed.edge_index)
    fixed = for_graph(directed)
    assert torch.equal(fixed.counterfactual(directed, 1).edge_index, directed.edge_index)
    assert any("held fixed" in note for note in fixed.notes)

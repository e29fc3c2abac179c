from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgear as fg
from fairgear.causal import SyntheticSettings, flipped, sample
from fairgear.datasets import statistics
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, undirected_edges
from tests.causal.brute_force import adjacency_of, world
from tests.graphs import random_graph
from tests.processes import in_processes

# Strong effects of s on a small graph: edges and labels really move between worlds.
STRONG = SyntheticSettings(n=120, d_z=8, d=4, a=0.15, w_s=4.0, threshold=0.75)
# The same with neighbours whose latent scores count, noisy features, and groups of other shapes.
AROUND = replace(STRONG, w_n=1.5, noise=0.5, shape=0.6)


def assert_same(one: SensitiveGraph, other: SensitiveGraph) -> None:
    assert one.fingerprint() == other.fingerprint()


@pytest.fixture(scope="module", params=[STRONG, AROUND], ids=["paper", "neighbours"])
def small(request: pytest.FixtureRequest) -> SensitiveGraph:
    return sample(request.param, seed=3)


def test_table_1_for_two_thousand_nodes() -> None:
    counted = [statistics(fg.datasets.load("synthetic", seed=seed)) for seed in range(8)]
    published = {"edges": 4120, "intra_group_edges": 2379, "inter_group_edges": 1741}
    for field, value in published.items():
        values = np.array([getattr(c, field) for c in counted], dtype=float)
        assert abs(values.mean() - value) < 2 * values.std(ddof=1), (field, values)
    assert all((c.nodes, c.features) == (2000, 26) for c in counted)
    assert np.mean([c.average_degree for c in counted]) == pytest.approx(5.12, abs=0.25)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("parameters", [STRONG, AROUND], ids=["paper", "neighbours"])
def test_sampling_and_counterfactuals_agree_with_brute_force(
    parameters: SyntheticSettings, seed: int
) -> None:
    graph = sample(parameters, seed=seed)
    model = fg.causal.for_graph(graph)
    random = np.random.default_rng(seed).integers(0, 2, STRONG.n)
    for sens in (graph.sens.numpy(), 0 * random, 0 * random + 1, random):
        features, adjacency, labels = world(graph, sens)
        got = model.counterfactual(graph, torch.from_numpy(sens))
        assert np.array_equal(got.x.numpy(), features.astype(np.float32))
        assert np.array_equal(adjacency_of(got), adjacency)
        assert np.array_equal(got.y.numpy(), labels)


def test_the_world_as_it_is_is_the_graph_itself(small: SensitiveGraph) -> None:
    graph = fg.graph.split(small)
    assert_same(fg.causal.for_graph(graph).counterfactual(graph, graph.sens), graph)


def test_a_counterfactual_of_a_counterfactual_leads_back(small: SensitiveGraph) -> None:
    model = fg.causal.for_graph(small)
    other = model.counterfactual(small, 0)
    assert_same(model.counterfactual(other, small.sens), small)


@settings(max_examples=25)
@given(node=st.integers(0, STRONG.n - 1), parameters=st.sampled_from([STRONG, AROUND]))
def test_setting_one_node_changes_only_what_it_may(
    node: int, parameters: SyntheticSettings
) -> None:
    graph = sample(parameters, seed=3)
    after = fg.causal.for_graph(graph).counterfactual(graph, flipped(graph, node))
    others = torch.arange(STRONG.n) != node
    assert torch.equal(after.x[others], graph.x[others])
    assert not torch.equal(after.x[node], graph.x[node])
    before_adjacency, after_adjacency = adjacency_of(graph), adjacency_of(after)
    changed = before_adjacency != after_adjacency
    assert not changed[others.numpy()][:, others.numpy()].any()
    may = before_adjacency[node] + after_adjacency[node] > 0
    may[node] = True
    assert not (after.y != graph.y)[torch.from_numpy(~may)].any()


def test_flipping_everyone_changes_no_edge_and_all_zero_changes_some(
    small: SensitiveGraph,
) -> None:
    model = fg.causal.for_graph(small)
    assert torch.equal(model.counterfactual(small, 1 - small.sens).edge_index, small.edge_index)
    assert not torch.equal(model.counterfactual(small, 0).edge_index, small.edge_index)
    paper = fg.datasets.load("synthetic", seed=0)
    everyone = fg.causal.for_graph(paper)
    assert not torch.equal(everyone.counterfactual(paper, 0).edge_index, paper.edge_index)


def test_the_label_threshold_stays_factual() -> None:
    # With w_s > 0 a world of ones can only raise scores; a threshold that moved along would
    # hide that.
    small = sample(STRONG, seed=3)
    model = fg.causal.for_graph(small)
    ones = model.counterfactual(small, 1)
    assert bool((ones.y >= small.y).all())
    assert int(ones.y.sum()) > int(small.y.sum())


def test_edited_and_hidden_labels_stay(small: SensitiveGraph) -> None:
    y = small.y.clone()
    y[:10] = -1
    graph = small.replace(y=y)
    assert_same(fg.causal.for_graph(graph).counterfactual(graph, graph.sens), graph)
    assert bool((fg.causal.for_graph(graph).counterfactual(graph, 0).y[:10] == -1).all())


def test_reordering_nodes_reorders_the_worlds(small: SensitiveGraph) -> None:
    order = torch.randperm(STRONG.n, generator=torch.Generator().manual_seed(0))
    moved = small.permute(order)
    sens = torch.randint(0, 2, (STRONG.n,), generator=torch.Generator().manual_seed(1))
    expected = fg.causal.for_graph(small).counterfactual(small, sens).permute(order)
    assert_same(fg.causal.for_graph(moved).counterfactual(moved, sens[order]), expected)


def test_the_same_seed_the_same_graph() -> None:
    assert_same(sample(STRONG, seed=5), sample(STRONG, seed=5))
    assert sample(STRONG, seed=5).fingerprint() != sample(STRONG, seed=6).fingerprint()


def test_what_goes_beyond_the_paper_leaves_the_rest_as_it_is() -> None:
    paper, more = sample(STRONG, seed=5), sample(AROUND, seed=5)
    assert paper.latent is not None
    assert more.latent is not None
    assert torch.equal(more.latent[:, : STRONG.d_z], paper.latent)
    assert more.fingerprint("sens", "edge_index") == paper.fingerprint("sens", "edge_index")
    for name in ("v", "w", "columns"):
        assert torch.equal(getattr(more.mechanism, name), getattr(paper.mechanism, name))
    assert not torch.equal(more.x, paper.x)
    assert not torch.equal(more.y, paper.y)


def test_an_edited_graph_has_no_exact_counterfactual(small: SensitiveGraph) -> None:
    x = small.x.clone()
    x[0, 1] += 1
    with pytest.raises(GraphError, match="features that differ"):
        fg.causal.for_graph(small.replace(x=x))
    fewer = undirected_edges(small.edge_index[:, small.edge_index.min(0).values > 0], STRONG.n)
    with pytest.raises(GraphError, match="edges that differ"):
        fg.causal.for_graph(small.replace(edge_index=fewer))
    model = fg.causal.for_graph(small)
    with pytest.raises(GraphError, match="another order"):
        model.counterfactual(small.permute(torch.arange(STRONG.n).flip(0)), 0)


def test_errors(small: SensitiveGraph) -> None:
    with pytest.raises(GraphError, match="without its exogenous variables"):
        fg.causal.SyntheticCausalModel().fit(random_graph())
    with pytest.raises(GraphError, match="each 0 or 1"):
        fg.causal.for_graph(small).counterfactual(small, 2)
    with pytest.raises(GraphError, match="120 values"):
        fg.causal.for_graph(small).counterfactual(small, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ParameterError, match="setting p"):
        SyntheticSettings(p=1.5)
    with pytest.raises(ParameterError, match="setting d:"):
        SyntheticSettings(d=60)


def _memory(_: Path) -> int:
    """Bytes by which a graph and a counterfactual of it raise what this process has used."""

    def used() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    before = 0
    for n in (100, 20_000):
        before = used()
        graph = fg.datasets.load("synthetic", n=n)
        world = fg.causal.for_graph(graph).counterfactual(graph, 0)
    assert min(graph.num_undirected_edges, world.num_undirected_edges) > 100_000
    return used() - before


def test_no_matrix_of_all_pairs_is_held_in_memory(tmp_path: Path) -> None:
    """Of 20,000 people, one byte per pair would be 0.4 GB, and a float32 1.6 GB."""
    (found,) = in_processes(_memory, 1, tmp_path)
    assert found < 0.6 * 10**9

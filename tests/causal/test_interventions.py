from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.causal import at_random, at_rate, changed_groups, flipped, released_world
from fairgear.errors import ParameterError
from fairgear.graph import Attributes
from fairgear.hashing import node_uniform
from tests.graphs import random_graph


def test_noise_is_uniform_and_streams_are_independent() -> None:
    ids = torch.arange(20_000)
    one, two = node_uniform(ids, 0, "a").numpy(), node_uniform(ids, 0, "b").numpy()
    other_seed = node_uniform(ids, 1, "a").numpy()
    assert stats.kstest(one, "uniform").pvalue > 1e-3
    for other in (two, other_seed, np.roll(one, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(len(ids))


@given(seed=st.integers(0, 2**63 - 1))
def test_noise_belongs_to_the_node_not_to_its_row(seed: int) -> None:
    ids = torch.tensor([5, 2**62, -7, 0])
    order = torch.tensor([2, 0, 3, 1])
    assert torch.equal(node_uniform(ids, seed)[order], node_uniform(ids[order], seed))


def test_rates_set_that_share_and_are_nested() -> None:
    graph = random_graph(n=40)
    at = {rate: at_rate(graph, rate) for rate in (0.0, 0.25, 0.5, 1.0)}
    assert [int(s.sum()) for s in at.values()] == [0, 10, 20, 40]
    assert bool((at[0.25] <= at[0.5]).all())
    assert not torch.equal(at_rate(graph, 0.5), at_rate(graph, 0.5, draw=1))
    with pytest.raises(ParameterError, match="rate"):
        at_rate(graph, 1.5)


def test_interventions_follow_reordered_nodes() -> None:
    graph = random_graph(n=40)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    moved = graph.permute(order)
    assert torch.equal(at_rate(moved, 0.5), at_rate(graph, 0.5)[order])
    assert torch.equal(at_random(moved), at_random(graph)[order])


def test_flipped_touches_one_node() -> None:
    graph = random_graph()
    assert torch.nonzero(flipped(graph, 4) != graph.sens).flatten().tolist() == [4]


def test_the_released_world_moves_s_in_full_the_rest_a_tenth_and_no_edge() -> None:
    graph = fg.datasets.load("synthetic", n=300, seed=1)
    model = fg.causal.for_graph(graph)
    soft, full = released_world(model, graph, 0), model.counterfactual(graph, 0)
    assert torch.equal(soft.edge_index, graph.edge_index)
    assert torch.equal(soft.y, graph.y)
    assert torch.equal(soft.sens, full.sens)
    assert torch.equal(soft.x[:, 0], full.x[:, 0])
    expected = 0.9 * graph.x[:, 1:] + 0.1 * full.x[:, 1:]
    torch.testing.assert_close(soft.x[:, 1:], expected)
    assert torch.equal(released_world(model, graph, graph.sens).x, graph.x)


def number_graph(n: int = 60) -> SensitiveGraph:
    """Ages with ties: a third of the people are 30."""
    draw = torch.Generator().manual_seed(0)
    age = torch.randint(20, 70, (n,), generator=draw).double()
    age[::3] = 30.0
    graph = random_graph(n=n)
    return graph.replace(
        sens=age, sens_column=None, sens_kind="continuous", attributes=Attributes.number("age")
    )


def test_another_number_is_that_of_somebody_else() -> None:
    graph = number_graph()
    everybody = torch.arange(len(graph.sens))
    drawn = torch.stack([changed_groups(graph, everybody, seed=seed) for seed in range(800)])
    assert (drawn != graph.sens).all()
    for row in (0, 1):
        # Every other person's value is as likely as another's.
        others = graph.sens[graph.sens != graph.sens[row]]
        values, count = torch.unique(others, return_counts=True)
        expected = 800 * count.double().numpy() / len(others)
        found = [(drawn[:, row] == value).sum().item() for value in values]
        assert stats.chisquare(found, expected).pvalue > 1e-3
    same = graph.replace(sens=torch.full_like(graph.sens, 44.0))
    assert torch.equal(changed_groups(same, everybody), same.sens)


def test_half_of_the_people_keep_their_number_and_the_others_get_somebodys() -> None:
    graph = number_graph(4000)
    drawn = [at_random(graph, draw=draw) for draw in range(2)]
    for sens in drawn:
        # Half keep theirs; of the others some draw the same.
        share = torch.unique(graph.sens, return_counts=True)[1].double() / len(graph.sens)
        alike = float((sens == graph.sens).double().mean())
        assert abs(alike - (0.5 + float(share.square().sum()) / 2)) < 0.03
        assert set(sens.tolist()) <= set(graph.sens.tolist())
        assert stats.ks_2samp(sens.numpy(), graph.sens.numpy()).pvalue > 1e-3
        moved = sens != graph.sens
        assert abs(np.corrcoef(sens[moved].numpy(), graph.sens[moved].numpy())[0, 1]) < 0.1
    assert not torch.equal(*drawn)
    order = torch.randperm(4000, generator=torch.Generator().manual_seed(1))
    assert torch.equal(at_random(graph.permute(order)), drawn[0][order])

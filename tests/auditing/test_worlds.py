from __future__ import annotations

import pytest
import torch

from fairgear.auditing import Worlds
from fairgear.errors import GraphError
from tests.auditing.models import small_graph


def test_worlds_are_made_once() -> None:
    worlds = Worlds(small_graph(60))
    assert worlds.strict[0.5][0].graph is worlds.strict[0.5][0].graph
    assert worlds.released is worlds.released


def test_draws_differ_and_rates_hold() -> None:
    worlds = Worlds(small_graph(60), draws=4)
    assert {rate: len(draws) for rate, draws in worlds.strict.items()} == {0: 1, 0.5: 4, 1: 1}
    for rate, draws in worlds.strict.items():
        for world, softened in zip(draws, worlds.released[rate], strict=True):
            assert world.graph.sens.double().mean() == rate
            assert torch.equal(world.graph.sens, softened.graph.sens)
    first, second, *_ = worlds.strict[0.5]
    assert not torch.equal(first.graph.sens, second.graph.sens)
    assert len(worlds.random) == 4


def test_the_placebo_changes_nobody() -> None:
    worlds = Worlds(small_graph(60))
    placebo = worlds.placebo.graph
    assert torch.equal(placebo.sens, worlds.graph.sens)
    assert torch.equal(placebo.x, worlds.graph.x)


def test_alone_changes_one_person_at_a_time() -> None:
    graph = small_graph(60)
    nodes = torch.tensor([3, 17])
    for node, world in zip(nodes.tolist(), Worlds(graph).alone(nodes), strict=True):
        assert (world.sens != graph.sens).nonzero()[:, 0].tolist() == [node]


def test_no_world_without_a_causal_model() -> None:
    graph = small_graph(60).replace(mechanism=None)
    x = graph.x.clone()
    x[:, graph.sens_column or 0] = 0
    worlds = Worlds(graph.replace(x=x, sens=torch.zeros_like(graph.sens)))
    assert worlds.causal_model is None
    assert "group 0" in worlds.why_none
    with pytest.raises(GraphError, match="counterfactual worlds"):
        _ = worlds.strict[0.0][0].graph


def test_a_graph_that_its_causal_model_refuses_is_an_error() -> None:
    graph = small_graph(60)
    with pytest.raises(GraphError, match="features that differ"):
        Worlds(graph.replace(x=graph.x + (torch.arange(graph.x.shape[1]) == 1)))

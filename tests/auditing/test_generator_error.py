from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import generator_error
from fairgear.causal import flipped, for_graph
from fairgear.errors import ParameterError
from fairgear.methods import Gear, GeneratorConfig
from fairgear.methods.egos import Ego
from fairgear.methods.gear.generator import VaeGenerator
from tests.auditing.models import small_graph


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph(200)


def fitted(graph: SensitiveGraph, variant: str) -> Gear:
    generator = GeneratorConfig(steps=60, hidden=32)
    return Gear(device="cpu", variant=variant, steps=2, dim=8, k=10, generator=generator).fit(graph)


@pytest.fixture(scope="module")
def gear(graph: SensitiveGraph) -> Gear:
    return fitted(graph, "full")


class Exact:
    """The true shift of the centre's features; every link of the centre is changed."""

    def __init__(self, v: Tensor) -> None:
        self.v = v

    def counterfactual(self, ego: Ego, sens: Tensor) -> Ego:
        x = ego.x + (sens - ego.sens)[..., None] * self.v
        adjacency = ego.adjacency.clone()
        adjacency[:, 0, 1:] = 1 - adjacency[:, 0, 1:]
        return Ego(x, sens, adjacency, ego.mask)


def test_an_exact_generator_has_no_error(
    gear: Gear, graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = Exact((graph.mechanism.v / gear.scaler_.scale).float())
    monkeypatch.setattr(gear, "generator", lambda: exact)
    result = generator_error(gear, graph)
    assert result.people == int(graph.test_mask.sum())
    assert result.feature_error == pytest.approx(0, abs=1e-5)
    assert result.edge_recall == 1
    assert 0 < result.edge_precision < 1


def test_exact_edges_by_brute_force(gear: Gear, graph: SensitiveGraph) -> None:
    result = generator_error(gear, graph)
    truth, moved = for_graph(graph), 0
    for i in graph.test_mask.nonzero()[:, 0].tolist():
        world = truth.counterfactual(graph, flipped(graph, i))
        ends = [{(a, b) for a, b in g.edge_index.T.tolist() if a == i} for g in (graph, world)]
        moved += len(ends[0] ^ ends[1])
    assert result.edges_changed + result.edges_outside == moved > 0


def test_a_learned_generator(gear: Gear, graph: SensitiveGraph) -> None:
    assert isinstance(gear.generator(), VaeGenerator)
    result = generator_error(gear, graph, people=15)
    assert result.people == 15
    assert 0 < result.feature_error < 2
    assert result.edges_right <= min(result.edges_changed, result.edges_generated)
    assert result == generator_error(gear, graph, people=15)


def test_a_flip_alone_explains_nothing(graph: SensitiveGraph) -> None:
    result = generator_error(fitted(graph, "nc"), graph, people=15)
    assert result.feature_error == 1
    assert result.edges_generated == 0
    assert math.isnan(result.edge_precision)
    assert result.edge_recall == 0


def test_relabelling_changes_no_feature(gear: Gear, graph: SensitiveGraph) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    first = generator_error(gear, graph, people=15)
    second = generator_error(gear, graph.permute(order), people=15)
    assert first.feature_error == pytest.approx(second.feature_error, rel=1e-4)
    assert first.edges_outside == second.edges_outside


def test_no_generator(graph: SensitiveGraph) -> None:
    with pytest.raises(ParameterError, match="no generator"):
        generator_error(fitted(graph, "np"), graph)

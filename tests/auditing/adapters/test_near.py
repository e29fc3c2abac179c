"""Models that are scored from people's surroundings, and those that must see the whole graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch_geometric.nn import (
    APPNP,
    GATConv,
    GCNConv,
    GINConv,
    GraphNorm,
    SAGEConv,
    global_mean_pool,
)

from fairgear.auditing import Worlds, audit
from fairgear.auditing.adapters import Adapter, ModuleAdapter, adapt
from fairgear.auditing.adapters.base import ROUNDING
from fairgear.causal import FittedCausalModel, SimilarityCausalModel
from fairgear.graph import SensitiveGraph
from fairgear.methods import METHODS
from fairgear.testing.toy_graphs import toy_graph
from tests.auditing.models import small_graph
from tests.causal.test_laws import table_graph
from tests.methods.test_contract import SETTINGS

WIDTH = 4


class Layers(nn.Module):
    """Two layers, and what comes between them."""

    def __init__(self, make: Callable[[int, int], nn.Module], between: nn.Module) -> None:
        super().__init__()
        self.first, self.between, self.second = make(WIDTH, 8), between, make(8, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = self.between(self.first(x, edge_index).relu())
        out: Tensor = self.second(hidden, edge_index)
        return out


class Twice(nn.Module):
    """One layer, called twice: two steps are seen, not one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = SAGEConv(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.last(self.layer(self.layer(x, edge_index), edge_index))
        return out


class Propagated(nn.Module):
    """A layer that passes messages on three times."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.spread = nn.Linear(WIDTH, 1), APPNP(3, 0.1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.spread(self.last(x), edge_index)
        return out


class Pooled(nn.Module):
    """Everybody's mean is part of each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = SAGEConv(WIDTH, 8), nn.Linear(16, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = self.layer(x, edge_index)
        everyone = global_mean_pool(hidden, torch.zeros(len(x), dtype=torch.int64))
        out: Tensor = self.last(torch.cat([hidden, everyone.expand_as(hidden)], dim=1))
        return out


class Alone(nn.Module):
    """Reads no edges."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.last(x)
        return out


class Scattered(Alone):
    """Passes messages by hand, which nobody can count."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        spread = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        out: Tensor = self.last(spread)
        return out


class Numbered(Alone):
    """Has a number for each person of its graph."""

    def __init__(self, people: int) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.randn(people, 1))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return super().forward(x, edge_index) + self.own


def gin(width: int, out: int) -> nn.Module:
    made: nn.Module = GINConv(nn.Sequential(nn.Linear(width, out), nn.BatchNorm1d(out)))
    return made


LOCAL: dict[str, Callable[[], nn.Module]] = {
    "gcn": lambda: Layers(GCNConv, nn.Identity()),
    "sage": lambda: Layers(SAGEConv, nn.Dropout()),
    "gat": lambda: Layers(GATConv, nn.Identity()),
    "gin": lambda: Layers(gin, nn.Identity()),
    "twice": Twice,
    "appnp": Propagated,
    "alone": Alone,
}
WHOLE: dict[str, Callable[[], nn.Module]] = {
    "pooled": Pooled,
    "graph norm": lambda: Layers(SAGEConv, GraphNorm(8)),
    "scattered": Scattered,
    "numbered": lambda: Numbered(240),
}


def sparse_table() -> Worlds:
    graph = table_graph(240)
    return Worlds(graph, SimilarityCausalModel("quantile").fit(graph))


def compared(model: Adapter, worlds: Worlds) -> float:
    """The largest difference between the scores in worlds of one person and in whole worlds."""
    people = worlds.graph.test_mask.nonzero()[:, 0][:70]
    asked = [torch.stack([person, people[0]]) for person in people]
    near = model.predict_each(worlds.alone(people), asked)
    whole = [
        model.scores(world, some) for world, some in zip(worlds.alone(people), asked, strict=True)
    ]
    return max(float(np.abs(one.scores - two).max()) for one, two in zip(near, whole, strict=True))


@pytest.mark.parametrize("name", LOCAL)
def test_layers_of_message_passing_are_local(name: str) -> None:
    torch.manual_seed(0)
    worlds, model = sparse_table(), ModuleAdapter(LOCAL[name](), output="logits")
    model.prepare(worlds)
    assert model.is_local
    assert model.self_people(worlds) is None
    assert compared(model, worlds) <= ROUNDING


@pytest.mark.parametrize("name", WHOLE)
def test_what_reads_the_whole_graph_is_given_it(name: str) -> None:
    torch.manual_seed(0)
    worlds, model = sparse_table(), ModuleAdapter(WHOLE[name](), output="logits")
    model.prepare(worlds)
    assert not model.is_local
    assert model.self_people(worlds) == 500
    assert compared(model, worlds) == 0


def test_a_table_model_reads_rows() -> None:
    worlds = sparse_table()
    x, y = worlds.graph.x.numpy(), worlds.graph.y.numpy()
    for features in (x, np.delete(x, 1, axis=1)):
        model = adapt(LogisticRegression().fit(features, y))
        model.prepare(worlds)
        assert model.is_local
        assert compared(model, worlds) <= ROUNDING


@pytest.mark.parametrize("name", METHODS)
def test_methods_read_surroundings(name: str) -> None:
    graph = toy_graph()
    worlds = Worlds(graph, FittedCausalModel("quantile", gate=False).fit(graph))
    settings: Any = SETTINGS.get(name, {})
    model = adapt(METHODS[name](**settings).fit(graph))
    model.prepare(worlds)
    assert model.is_local
    assert compared(model, worlds) <= ROUNDING


def test_an_audit_is_the_same_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = small_graph()
    torch.manual_seed(0)
    module = nn.Linear(graph.x.shape[1], 1)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.last = SAGEConv(graph.x.shape[1], 4), module

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.layer(x, edge_index).sum(dim=1, keepdim=True) + self.last(x)
            return out

    net = Net()
    few: dict[str, Any] = {"probes": False, "other_causal_models": False}
    near = audit(ModuleAdapter(net, output="logits"), graph, **few)
    monkeypatch.setattr(ModuleAdapter, "near", lambda *_: None)
    whole = audit(ModuleAdapter(net, output="logits"), graph, **few)
    assert near.metrics == whole.metrics
    column = "score_strict_self"
    assert np.allclose(near.people[column], whole.people[column], rtol=0, atol=ROUNDING)
    assert near.people["neighbors_that_matter"].equals(whole.people["neighbors_that_matter"])


def test_a_broken_model_is_found_by_the_audit_and_not_before() -> None:
    class Broken(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            raise RuntimeError("broken")

    model = ModuleAdapter(Broken())
    model.prepare(sparse_table())
    assert not model.is_local


def test_the_whole_graph_of_a_world_is_made_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    worlds, model = sparse_table(), ModuleAdapter(LOCAL["sage"](), output="logits")
    model.prepare(worlds)
    monkeypatch.setattr(SensitiveGraph, "replace", None)
    people = torch.arange(3)
    assert len(list(model.predict_each(worlds.alone(people), torch.split(people, 1)))) == 3

"""Graphs, models that are scored in local worlds, and every state by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, World, Worlds, audit
from fairgear.auditing.adapters.graph_models import EstimatorAdapter
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.auditing.worlds import judged_by
from fairgear.causal import (
    CausalModel,
    FittedCausalModel,
    SimilarityCausalModel,
    SyntheticCausalModel,
)
from fairgear.graph import Attributes
from fairgear.metrics.inputs import Floats
from tests.auditing.ages import ages
from tests.auditing.models import FakeModel, small_graph
from tests.causal.test_laws import table_graph
from tests.graphs import linked_graph, random_graph


class Near(EstimatorAdapter):
    """Scores each local world on the whole graph that it is: slow, and right."""

    def near(self, worlds: Sequence[World], nodes: Sequence[Tensor]) -> Floats | None:
        each = [self.scores(world, some) for world, some in zip(worlds, nodes, strict=True)]
        return np.concatenate(each)


class Reads(FakeModel):
    """Own features, and those of whoever points to a person, weighted: everything moves it."""

    def __init__(self, slope: float = 1.0, shift: float = 0.0) -> None:
        self.slope, self.shift = slope, shift

    def score(self, graph: SensitiveGraph) -> Tensor:
        x = graph.x.double()
        source, target = graph.edge_index
        weight = torch.ones(len(source), dtype=torch.float64)
        if graph.edge_weight is not None:
            weight = graph.edge_weight.double()
        total = torch.zeros(len(x), dtype=torch.float64)
        total.index_add_(0, target, weight * x.sum(dim=1)[source])
        count = torch.zeros(len(x), dtype=torch.float64).index_add_(0, target, weight)
        means = total / (1 + count)
        # Rounded: sums in another order must not be another answer.
        logits = self.slope * (x.sum(dim=1) + means) + self.shift
        return torch.sigmoid(logits.mul(1e7).round() / 1e7)


def explored(
    model: FakeModel, graph: SensitiveGraph | Worlds, people: int = 8, **more: Any
) -> Audit:
    few = {"affected_people": 0, "probes": False, "what_if_people": people}
    return audit(Near(model), graph, **{**few, **more})


def what_if_of(found: Audit) -> WhatIf:
    assert found.what_if is not None
    return found.what_if


def state(person: ExplainedPerson, **places: int) -> State:
    """The only state with these places, others and own as they are, model and dose the first."""
    wanted = {"own": -1, "others": 0, "model": 0, "dose": 0} | places
    (found,) = (
        one
        for one in person.states
        if all(getattr(one, key) == value for key, value in wanted.items())
    )
    return found


def row_of(graph: SensitiveGraph, person: ExplainedPerson) -> int:
    return int((graph.node_id == int(person.node_id)).nonzero()[0])


KINDS = ("table", "fitted", "directed", "weighted", "groups", "number", "exact")


def three_groups() -> SensitiveGraph:
    graph = random_graph(150, 400)
    sens = torch.randint(0, 3, (150,), generator=torch.Generator().manual_seed(5))
    x = graph.x.clone()
    x[:, 0] += sens
    x[:, 1] = sens.float()
    return graph.replace(
        x=x, sens=sens, attributes=Attributes.single("origin", ("here", "there", "elsewhere"))
    )


@cache
def graph_of(kind: str) -> SensitiveGraph:
    if kind == "table":
        return table_graph(150)
    if kind == "exact":
        return small_graph(150)
    if kind == "number":
        return ages(150)
    if kind == "groups":
        return three_groups()
    if kind == "fitted":
        return random_graph(150, 400)
    return linked_graph(150, 500, directed=kind == "directed", weighted=kind == "weighted")


def law(kind: str) -> CausalModel:
    """A causal model whose worlds of few people are local, fitted as an audit fits it."""
    graph = graph_of(kind)
    if kind == "exact":
        return SyntheticCausalModel().fit(graph)
    if kind == "table":
        return SimilarityCausalModel().fit(graph, judged_by(graph))
    edges = "distance" if kind in ("fitted", "groups", "number") else "fixed"
    return FittedCausalModel(edges=edges, gate=False).fit(graph, judged_by(graph))


def model_of(kind: str) -> Reads:
    """Of ages around fifty, so that answers differ."""
    return Reads(0.1, -9.8) if kind == "number" else Reads()


@cache
def result(kind: str) -> Audit:
    return explored(model_of(kind), Worlds(graph_of(kind), law(kind), draws=1))


def found(kind: str) -> WhatIf:
    return what_if_of(result(kind))

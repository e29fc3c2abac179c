"""Graphs, models that are scored in local worlds, and every state by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, World, Worlds, audit
from fairgear.auditing.adapters.graph_models import EstimatorAdapter
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.metrics.inputs import Floats
from tests.auditing.models import FakeModel


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
    model: FakeModel, graph: SensitiveGraph | Worlds, people: int = 12, **more: Any
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

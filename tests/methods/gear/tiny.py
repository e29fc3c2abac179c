"""Gear small enough to train in a second."""

from __future__ import annotations

from typing import Any

from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods import Gear

TINY: dict[str, Any] = {"dim": 16, "steps": 20, "learning_rate": 0.01, "device": "cpu"}
# Steps of everybody, and of some.
BATCHES: list[dict[str, Any]] = [{}, {"batch_size": 30, "fanout": 3}]


def tiny(**settings: Any) -> Gear:
    """A Gear of 16 dimensions and 20 steps."""
    return Gear(**(TINY | settings))


def telling(graph: SensitiveGraph) -> SensitiveGraph:
    """The same people, with features and labels that depend on s around them: R² is high."""
    near = closed_neighborhood_mean(graph.sens, graph.edge_index)
    x = graph.x.clone()
    x[:, int(graph.sens_column == 0)] = near
    return graph.replace(x=x, y=(near + 0.1 * x[:, 2] > near.median()).long())

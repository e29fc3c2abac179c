"""Graphs for models of others: what they do to them harms no world."""

from __future__ import annotations

import copy

from torch import Tensor

from fairgear.graph import SensitiveGraph


def own_copy(graph: SensitiveGraph) -> SensitiveGraph:
    """The same graph with tensors of its own: a model may overwrite them, also through NumPy."""
    fresh = copy.copy(graph)
    for key in graph.keys():  # noqa: SIM118  # a PyG Data is no dictionary
        if isinstance(graph[key], Tensor):
            fresh[key] = graph[key].clone()
    return fresh

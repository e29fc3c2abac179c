"""Parts of a counterfactual: the attribute alone, with the features only, with the edges only."""

from __future__ import annotations

from torch import Tensor

from fairgear.graph import SensitiveGraph


def attribute_only(graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
    """The factual graph with the attribute set, and its column where there is one."""
    return graph.replace(x=_with_column(graph, graph.x, sens), sens=sens, mechanism=None)


def features_only(graph: SensitiveGraph, world: SensitiveGraph) -> SensitiveGraph:
    """The world's attribute and features on the factual edges."""
    return graph.replace(x=world.x, sens=world.sens, mechanism=None)


def structure_only(graph: SensitiveGraph, world: SensitiveGraph) -> SensitiveGraph:
    """The world's attribute and edges with the factual features."""
    x = _with_column(graph, graph.x, world.sens)
    return graph.replace(x=x, edge_index=world.edge_index, sens=world.sens, mechanism=None)


def structure_with(world: SensitiveGraph, x: Tensor) -> SensitiveGraph:
    """The world with other features; the attribute's column stays the world's."""
    return world.replace(x=_with_column(world, x, world.sens), mechanism=None)


def _with_column(graph: SensitiveGraph, x: Tensor, sens: Tensor) -> Tensor:
    x = x.clone()
    if graph.sens_column is not None:
        x[:, graph.sens_column] = sens.to(x.dtype)
    return x

"""Pairs of people, and graphs without them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of people, and which of them are linked.

    Example:
        >>> import torch
        >>> from fairgear.links import Pairs
        >>> pairs = Pairs(torch.tensor([[0, 2], [1, 3]]), torch.tensor([1, 0]))
        >>> len(pairs), pairs.linked.tolist()
        (2, [1, 0])
    """

    ends: Tensor
    """Rows (2, m), on the CPU; of a directed graph, arcs from the first to the second."""
    linked: Tensor
    """(m,), 1 where they are linked and 0 where they are not."""

    def __len__(self) -> int:
        return int(self.ends.shape[1])


def pair_keys(ends: Tensor, n: int, *, directed: bool) -> Tensor:
    """One number (m,) for each pair of rows, the same for both orders unless edges have one."""
    first, second = ends[0], ends[1]
    if not directed:
        first, second = torch.minimum(first, second), torch.maximum(first, second)
    return first * n + second


def without_pairs(graph: SensitiveGraph, ends: Tensor) -> SensitiveGraph:
    """The graph without the edges between these pairs of rows (2, m), where it has them.

    Example:
        >>> import torch
        >>> from fairgear.links import without_pairs
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> fewer = without_pairs(graph, graph.edge_index[:, :1])
        >>> graph.num_undirected_edges - fewer.num_undirected_edges
        1
    """
    n = len(graph.x)
    gone = pair_keys(check_ends(ends, n), n, directed=graph.directed)
    edges = graph.edge_index
    keys = pair_keys(edges, n, directed=graph.directed)
    kept = ~torch.isin(keys, gone.to(keys.device))
    if bool(kept.all()):
        return graph
    weight = None if graph.edge_weight is None else graph.edge_weight[kept]
    return graph.replace(edge_index=edges[:, kept], edge_weight=weight, mechanism=None)


def check_ends(ends: Tensor, n: int) -> Tensor:
    """Rows (2, m) of a graph of `n` people on the CPU; refused if they are none."""
    shape = tuple(ends.shape)
    if ends.dtype != torch.int64 or len(shape) != 2 or shape[0] != 2:
        raise ParameterError(
            "pairs of people",
            f"{ends.dtype} of shape {shape}",
            "int64 of shape (2, pairs)",
            "pass rows of the graph, one pair a column",
        )
    ends = ends.cpu()
    outside = ends[(ends < 0) | (ends >= n)]
    if len(outside):
        allowed = f"rows from 0 to {n - 1}"
        raise ParameterError("pairs of people", f"row {int(outside[0])}", allowed, "correct it")
    same = ends[0, ends[0] == ends[1]]
    if len(same):
        got = f"row {int(same[0])} with itself"
        raise ParameterError("pairs of people", got, "two people each", "leave it out")
    return ends

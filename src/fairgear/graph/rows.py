"""Which people are meant: row numbers, or a mask that stands for them."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.graph.sensitive_graph import SensitiveGraph


def rows_of(graph: SensitiveGraph, nodes: Tensor | None, *, name: str = "nodes") -> Tensor:
    """`nodes` as checked row numbers on the CPU; all rows if not given."""
    n = len(graph.x)
    if nodes is None:
        return torch.arange(n)
    nodes = nodes.cpu()
    if nodes.dtype == torch.bool and tuple(nodes.shape) == (n,):
        return nodes.nonzero()[:, 0]
    whole = nodes.dtype == torch.int64 and nodes.dim() == 1
    if not whole or (len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < n):
        raise ParameterError(
            name,
            f"{nodes.dtype} of shape {tuple(nodes.shape)}",
            f"row numbers from 0 to {n - 1}, or a boolean mask of length {n}",
            "pass rows of the graph",
        )
    return nodes

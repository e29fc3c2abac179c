"""The people who are evaluated: which rows of the graph, and in what order."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.causal.noise import node_uniform
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph


def select(graph: SensitiveGraph, nodes: Tensor | None) -> Tensor:
    """Rows of the people, ordered by node id, so that reordering the graph changes nothing.

    Args:
        graph: the factual graph.
        nodes: row numbers, or a mask; the test nodes if not given.
    """
    n = len(graph.x)
    chosen = graph.test_mask if nodes is None else nodes
    if chosen.dtype == torch.bool and tuple(chosen.shape) == (n,):
        rows = chosen.nonzero()[:, 0]
    else:
        rows = chosen
    whole = rows.dim() == 1 and rows.dtype == torch.int64
    within = whole and len(rows) > 0 and int(rows.min()) >= 0 and int(rows.max()) < n
    if not within or len(rows.unique()) < len(rows):  # type: ignore[no-untyped-call]
        raise ParameterError(
            "the graph's test_mask" if nodes is None else "nodes to evaluate",
            got="no node"
            if whole and len(rows) == 0
            else f"{chosen.dtype} of shape {tuple(chosen.shape)}",
            allowed=f"at least one of the rows 0 to {n - 1}, each once, or a mask of {n}",
            next_step="make a split with fairgear.graph.split, or pass nodes=torch.arange(n)",
        )
    return rows[graph.node_id[rows].argsort()].cpu()


def sample(graph: SensitiveGraph, rows: Tensor, most: int, seed: int) -> Tensor:
    """Positions in `rows` of at most `most` people, chosen by a hash of their ids, in order."""
    noise = node_uniform(graph.node_id[rows], seed, "people")
    return noise.argsort(stable=True)[:most].sort().values

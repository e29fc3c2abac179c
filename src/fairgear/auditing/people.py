"""The people who are evaluated: which rows of the graph, and in what order."""

from __future__ import annotations

from torch import Tensor

from fairgear.causal.noise import node_uniform
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, rows_of


def select(graph: SensitiveGraph, nodes: Tensor | None) -> Tensor:
    """Rows of the people, ordered by node id, so that reordering the graph changes nothing.

    Args:
        graph: the factual graph.
        nodes: row numbers, or a mask; the test nodes if not given.
    """
    name = "the graph's test_mask" if nodes is None else "nodes to evaluate"
    rows = rows_of(graph, graph.test_mask if nodes is None else nodes, name=name)
    if len(rows) == 0 or len(set(rows.tolist())) < len(rows):
        raise ParameterError(
            name,
            got="no node" if len(rows) == 0 else "a node more than once",
            allowed="at least one node, each once",
            next_step="make a split with fairgear.graph.split, or pass nodes=torch.arange(n)",
        )
    return rows[graph.node_id.cpu()[rows].argsort()]


def sample(graph: SensitiveGraph, rows: Tensor, most: int, seed: int) -> Tensor:
    """Positions in `rows` of at most `most` people, chosen by a hash of their ids, in order."""
    noise = node_uniform(graph.node_id[rows], seed, "people")
    return noise.argsort(stable=True)[:most].sort().values

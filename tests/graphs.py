"""Small graphs that many tests share."""

from __future__ import annotations

import torch

from fairgear import SensitiveGraph
from fairgear.graph import directed_edges, undirected_edges


def random_graph(n: int = 30, edges: int = 60, seed: int = 0, d: int = 4) -> SensitiveGraph:
    """A random graph with the sensitive attribute in column 1 and a split by thirds."""
    generator = torch.Generator().manual_seed(seed)
    sens = torch.randint(0, 2, (n,), generator=generator)
    x = torch.randn(n, d, generator=generator)
    x[:, 1] = sens.float()
    pairs = torch.randint(0, n, (2, edges), generator=generator)
    part = torch.arange(n) % 3
    return SensitiveGraph(
        x,
        undirected_edges(pairs, n),
        torch.randint(0, 2, (n,), generator=generator),
        sens,
        sens_column=1,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
    )


def linked_graph(
    n: int = 30, edges: int = 80, seed: int = 0, *, directed: bool, weighted: bool
) -> SensitiveGraph:
    """A random graph with arcs or weights, whose ids are not its row numbers."""
    generator = torch.Generator().manual_seed(seed)
    plain = random_graph(n, edges, seed)
    pairs = torch.randint(0, n, (2, edges), generator=generator)
    edge_index = directed_edges(pairs, n) if directed else plain.edge_index
    weight = 0.2 + 2 * torch.rand(n, n, generator=generator, dtype=torch.float64)
    weight = weight if directed else weight + weight.T
    return plain.replace(
        edge_index=edge_index,
        directed=directed,
        edge_weight=weight[edge_index[0], edge_index[1]] if weighted else None,
        node_id=7 * torch.randperm(n, generator=generator) + 3,
    )

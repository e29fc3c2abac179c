"""Edge lists as tensors of shape (2, E), sorted, no self-loops.

Both directions of each edge of an undirected graph; each arc of a directed one, once.
"""

from __future__ import annotations

import torch
from torch import Tensor


def sort_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """The same edges sorted by (source, target), as graphs store them."""
    order = sorting_order(edge_index, num_nodes)
    return (edge_index if order is None else edge_index[:, order]).contiguous()


def sorting_order(edge_index: Tensor, num_nodes: int) -> Tensor | None:
    """The order that sorts edges by (source, target); None if they are sorted."""
    key = edge_index[0] * num_nodes + edge_index[1]
    return None if in_order(key) else key.argsort()


def in_order(keys: Tensor) -> bool:
    """Whether the numbers are strictly increasing, and need no sorting."""
    return bool((keys[1:] > keys[:-1]).all())


def undirected_edges(pairs: Tensor, num_nodes: int) -> Tensor:
    """Both directions of each pair in `pairs` (2, m), once, sorted, self-loops dropped.

    Example:
        >>> import torch
        >>> from fairgear.graph import undirected_edges
        >>> undirected_edges(torch.tensor([[2, 0, 1], [0, 1, 1]]), num_nodes=3).tolist()
        [[0, 0, 1, 2], [1, 2, 0, 0]]
    """
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    key = torch.unique(both[0] * num_nodes + both[1])
    return torch.stack([key // num_nodes, key % num_nodes])


def directed_edges(pairs: Tensor, num_nodes: int) -> Tensor:
    """Each arc in `pairs` (2, m) once, from row 0 to row 1, sorted, self-loops dropped.

    Example:
        >>> import torch
        >>> from fairgear.graph import directed_edges
        >>> directed_edges(torch.tensor([[2, 0, 2, 1], [0, 1, 0, 1]]), num_nodes=3).tolist()
        [[0, 2], [1, 0]]
    """
    pairs = pairs[:, pairs[0] != pairs[1]]
    key = torch.unique(pairs[0] * num_nodes + pairs[1])
    return torch.stack([key // num_nodes, key % num_nodes])


def changed_arcs(
    edge_index: Tensor, removed: Tensor, added: Tensor, num_nodes: int
) -> tuple[Tensor, Tensor]:
    """Arcs without some and with others, unsorted, and which of the old ones were kept (E,).

    An arc may be in both, where only its weight is another.
    """
    gone = (removed[0] * num_nodes + removed[1]).to(edge_index.device)
    kept = ~torch.isin(edge_index[0] * num_nodes + edge_index[1], gone)
    return torch.cat([edge_index[:, kept], added.to(edge_index.device)], dim=1), kept


def changed_edges(edge_index: Tensor, removed: Tensor, added: Tensor, num_nodes: int) -> Tensor:
    """Sorted edges without some and with others, sorted; merged, which is faster than sorting.

    `removed` are edges, `added` are not; each is (2, m) with every pair once.
    """
    key = edge_index[0] * num_nodes + edge_index[1]
    gone, fresh = (
        torch.cat([pairs[0] * num_nodes + pairs[1], pairs[1] * num_nodes + pairs[0]]).to(key.device)
        for pairs in (removed, added)
    )
    kept = torch.ones(len(key), dtype=torch.bool, device=key.device)
    kept[torch.searchsorted(key, gone)] = False
    key = key[kept]
    fresh = fresh.sort().values
    place = torch.searchsorted(key, fresh) + torch.arange(len(fresh), device=key.device)
    merged = torch.empty(2, len(key) + len(fresh), dtype=edge_index.dtype, device=key.device)
    old = torch.ones(merged.shape[1], dtype=torch.bool, device=key.device)
    old[place] = False
    merged[:, old] = edge_index[:, kept]
    merged[:, place] = torch.stack([fresh // num_nodes, fresh % num_nodes])
    return merged


def degrees(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Number of neighbours of each node; of a directed graph, those whom it points to.

    Example:
        >>> import torch
        >>> from fairgear.graph import degrees, undirected_edges
        >>> degrees(undirected_edges(torch.tensor([[0, 1], [1, 2]]), 3), 3).tolist()
        [1, 2, 1]
    """
    return torch.bincount(edge_index[0], minlength=num_nodes)


def closed_neighborhood_mean(
    values: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
) -> Tensor:
    """Mean of `values` over each node and its neighbours, in float64.

    Of a directed graph, over the node and those whom it points to. With weights, neighbours count
    by theirs and the node itself once: (v_i + Σ w_ij v_j) / (1 + Σ w_ij).

    Example:
        >>> import torch
        >>> from fairgear.graph import closed_neighborhood_mean, undirected_edges
        >>> edges = undirected_edges(torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
        >>> closed_neighborhood_mean(torch.tensor([0.0, 1.0, 0.5]), edges).tolist()
        [0.5, 0.5, 0.75]
    """
    values = values.to(torch.float64)
    total = values.clone()
    if edge_weight is None:
        total.index_add_(0, edge_index[0], values[edge_index[1]])
        return total / (degrees(edge_index, values.shape[0]) + 1)
    weight = edge_weight.to(torch.float64)
    total.index_add_(0, edge_index[0], weight * values[edge_index[1]])
    return total / torch.ones_like(values).index_add_(0, edge_index[0], weight)

"""Edge lists as tensors of shape (2, E): both directions of each edge, sorted, no self-loops."""

from __future__ import annotations

import torch
from torch import Tensor


def sort_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """The same edges sorted by (source, target), as graphs store them."""
    key = edge_index[0] * num_nodes + edge_index[1]
    if in_order(key):
        return edge_index.contiguous()
    return edge_index[:, key.argsort()].contiguous()


def in_order(keys: Tensor) -> bool:
    """Whether the numbers are strictly increasing, and need no sorting."""
    return bool((keys[1:] > keys[:-1]).all())


def undirected_edges(pairs: Tensor, num_nodes: int) -> Tensor:
    """Both directions of each pair in `pairs` (2, m), once, sorted, self-loops dropped."""
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    key = torch.unique(both[0] * num_nodes + both[1])
    return torch.stack([key // num_nodes, key % num_nodes])


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
    """Number of neighbours of each node."""
    return torch.bincount(edge_index[0], minlength=num_nodes)


def closed_neighborhood_mean(values: Tensor, edge_index: Tensor) -> Tensor:
    """Mean of `values` over each node and its neighbours, in float64."""
    values = values.to(torch.float64)
    total = values.clone()
    total.index_add_(0, edge_index[0], values[edge_index[1]])
    return total / (degrees(edge_index, values.shape[0]) + 1)

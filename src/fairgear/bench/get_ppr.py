"""PyG's personalised PageRank, and the top members of what it gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fairgear.egos import Structure

# Visits of people, as `get_ppr` gives them: (2, entries) of person and node, and a weight each.
Visits = tuple[Tensor, Tensor]


def pyg_push(
    edge_index: Tensor, n: int, alpha: float, epsilon: float
) -> Callable[[Tensor], Visits]:
    """`get_ppr` on a graph, ready to be called with people."""
    from torch_geometric import EdgeIndex
    from torch_geometric.utils import get_ppr

    # Sorted beforehand, so that its set-up has as little as possible to do.
    edges = EdgeIndex(edge_index, sparse_size=(n, n), sort_order="row").fill_cache_()

    def call(people: Tensor) -> Visits:
        index, weight = get_ppr(edges, alpha, epsilon, target=people, num_nodes=n)
        return index, weight

    return call


def top_members(visits: Visits, structure: Structure, people: Tensor, k: int) -> Tensor:
    """(m, k) members by visits divided by degree, the person first; −1 where there are fewer."""
    index, weight = visits
    score = weight.double() / torch.from_numpy(structure.degrees)[index[1]]
    found = torch.full((len(people), k), -1)
    begins = np.flatnonzero(np.diff(index[0].numpy(), prepend=-1))
    for row, (begin, end) in enumerate(zip(begins, [*begins[1:], index.shape[1]], strict=True)):
        near, worth = index[1, begin:end], score[begin:end].clone()
        worth[near == people[row]] = float("inf")
        top = near[worth.topk(min(k, len(near))).indices]
        found[row, : len(top)] = top
    return found


def overlap(found: Tensor, truth: Tensor) -> float:
    """Share of the members of `truth` (m, k) that are among those `found` for the same people."""
    return float((truth[:, :, None] == found[:, None, :]).any(dim=2).double().mean())

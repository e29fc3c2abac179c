"""Other ways to personalised PageRank: PyG's push, plain Python, powers of a sparse matrix."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from fairgear.egos import Structure

Floats = NDArray[np.float64]
# Visits of people, as `get_ppr` gives them: (2, entries) of person and node, and a weight each.
Visits = tuple[Tensor, Tensor]


def pyg_push(
    edge_index: Tensor, n: int, alpha: float, epsilon: float
) -> Callable[[Tensor], Visits]:
    """`get_ppr` on a graph, ready to be called with people."""
    from torch_geometric import EdgeIndex
    from torch_geometric.utils import get_ppr

    # Sorted beforehand, to keep its set-up small.
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


@dataclass(frozen=True)
class Pushed:
    """What a push found, and how many nodes it pushed and edges it followed."""

    settled: dict[int, float]
    """The settled share of every node that was touched."""
    pushes: int
    edges: int


def plain_push(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    source: int,
    alpha: float,
    tolerance: float,
) -> Pushed:
    """Push from `source` until every residual r[u] ≤ tolerance · degree(u), first come first."""
    residual, settled = {source: 1.0}, {source: 0.0}
    queue, waiting = deque([source]), {source}
    pushes = edges = 0
    while queue:
        node = queue.popleft()
        waiting.discard(node)
        begin, end = int(indptr[node]), int(indptr[node + 1])
        mass = residual[node]
        if end == begin or mass <= tolerance * (end - begin):
            continue
        pushes += 1
        edges += end - begin
        settled[node] += alpha * mass
        residual[node] = 0.0
        share = (1 - alpha) * mass / (end - begin)
        for neighbour in indices[begin:end].tolist():
            settled.setdefault(neighbour, 0.0)
            residual[neighbour] = residual.get(neighbour, 0.0) + share
            degree = int(indptr[neighbour + 1] - indptr[neighbour])
            if residual[neighbour] > tolerance * degree and neighbour not in waiting:
                waiting.add(neighbour)
                queue.append(neighbour)
    return Pushed(settled, pushes, edges)


def walk_matrix(
    indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> tuple[sparse.csr_array, Floats]:
    """A D⁻¹ of an undirected graph, and the degrees, 1 for isolated nodes."""
    n = len(indptr) - 1
    degrees = np.maximum(np.diff(indptr), 1).astype(np.float64)
    weight = 1.0 / degrees[indices]
    return sparse.csr_array((weight, indices, indptr), shape=(n, n)), degrees


def power_walks(
    walk: sparse.csr_array,
    degrees: Floats,
    sources: NDArray[np.int64],
    alpha: float,
    tolerance: float,
) -> Floats:
    """Columns R[:, i] of `sources`, by power iteration.

    After t steps r = ((1−α) A D⁻¹)ᵗ e_i still walks; it ends where every r[u] ≤ tolerance ·
    degree(u), as a push does.
    """
    left = np.zeros((walk.shape[0], len(sources)))
    left[sources, np.arange(len(sources))] = 1.0
    settled = alpha * left
    while (left > tolerance * degrees[:, None]).any():
        left = (1 - alpha) * (walk @ left)
        settled += alpha * left
    return settled

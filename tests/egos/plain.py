"""Small graphs, and PageRank the plain way: the dense inverse."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph import SensitiveGraph, undirected_edges

Floats = NDArray[np.float64]


def random_edges(n: int, edges: int, seed: int) -> Tensor:
    """Erdős–Rényi."""
    rng = np.random.default_rng(seed)
    return undirected_edges(torch.from_numpy(rng.integers(0, n, (2, edges))), n)


def scale_free_edges(n: int, links: int, seed: int) -> Tensor:
    """Barabási–Albert: each new node links to old ones in proportion to their degree."""
    rng = np.random.default_rng(seed)
    ends = list(range(links))
    pairs = []
    for node in range(links, n):
        for old in {ends[int(i)] for i in rng.integers(0, len(ends), links)}:
            pairs.append((node, old))
            ends += [node, old]
    return undirected_edges(torch.tensor(pairs).t(), n)


def disconnected_edges(n: int, seed: int) -> Tensor:
    """Components of very different sizes, down to single nodes."""
    edges = random_edges(n, 2 * n, seed)
    group = torch.from_numpy(np.random.default_rng(seed).geometric(0.3, n))
    return edges[:, group[edges[0]] == group[edges[1]]]


def similarity_edges(n: int, nearest: int, seed: int) -> Tensor:
    """Points linked to their nearest; a fifth of them are copies of others, hence twins."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(n, 5, generator=generator, dtype=torch.float64)
    points[-n // 5 :] = points[torch.randint(0, n // 2, (n // 5,), generator=generator)]
    distance = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    limit = distance.sort(dim=1).values[:, nearest, None]
    return undirected_edges(torch.nonzero(distance <= limit).t(), n)


def star(leaves: int) -> Tensor:
    """Node 0 linked to all others."""
    outer = torch.arange(1, leaves + 1)
    return undirected_edges(torch.stack([torch.zeros_like(outer), outer]), leaves + 1)


def complete(n: int) -> Tensor:
    return undirected_edges(torch.combinations(torch.arange(n)).t(), n)


def path(n: int) -> Tensor:
    return undirected_edges(torch.stack([torch.arange(n - 1), torch.arange(1, n)]), n)


def dense_walk(edge_index: Tensor, n: int) -> Floats:
    """A D⁻¹."""
    adjacency = np.zeros((n, n))
    adjacency[edge_index[0].numpy(), edge_index[1].numpy()] = 1.0
    walk: Floats = adjacency / np.maximum(adjacency.sum(0), 1.0)
    return walk


def dense_pagerank(edge_index: Tensor, n: int, alpha: float = 0.15) -> Floats:
    """R = α (I − (1−α) A D⁻¹)⁻¹."""
    inverse = np.linalg.inv(np.eye(n) - (1 - alpha) * dense_walk(edge_index, n))
    return np.asarray(alpha * inverse, np.float64)


def overlap(ids: Tensor, mask: Tensor, scores: Floats, noise: float = 1e-13) -> float:
    """Share of exact top-k members (by rows of `scores`) that are there, ties aside."""
    agreed = expected = 0
    for i, row in enumerate(scores):
        chosen = ids[i][mask[i]].numpy()
        assert chosen[0] == i
        assert len(set(chosen)) == len(chosen)
        others = row.copy()
        others[i] = -1.0
        wanted = min(ids.shape[1] - 1, int((others > noise).sum()))
        expected += wanted
        assert len(chosen) == wanted + 1
        if wanted:
            last = np.sort(others)[-wanted]
            agreed += int((others[chosen[1:]] >= last * (1 - 1e-12)).sum())
    return agreed / expected


def people(edge_index: Tensor, n: int, seed: int = 0) -> SensitiveGraph:
    """A graph with features and a sensitive attribute."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    sens = torch.randint(0, 2, (n,), generator=generator)
    return SensitiveGraph(x=x, edge_index=edge_index, sens=sens)

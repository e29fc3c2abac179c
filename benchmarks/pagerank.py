"""Seconds that egos take on graphs of the size of Bail, and on one of 100,000 nodes.

python benchmarks/pagerank.py
"""

from __future__ import annotations

import time

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from fairgear.egos import PageRank, Structure, find_egos
from fairgear.graph import undirected_edges


def nearest_neighbours(n: int, nearest: int, clusters: int, seed: int = 0) -> Tensor:
    """Gaussian points in ten dimensions, one in ten of them a copy of another."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 10))
    points += 3.0 * rng.normal(size=(clusters, 10))[rng.integers(0, clusters, n)] * (clusters > 1)
    copies = n // 10
    points[-copies:] = points[rng.integers(0, n - copies, copies)]
    found = NearestNeighbors(n_neighbors=nearest + 1).fit(points)
    targets = found.kneighbors(points, return_distance=False)[:, 1:]
    sources = np.repeat(np.arange(n), nearest)
    return undirected_edges(torch.from_numpy(np.stack([sources, targets.ravel()])), n)


def uniform(n: int, edges: int, seed: int = 0) -> Tensor:
    rng = np.random.default_rng(seed)
    return undirected_edges(torch.from_numpy(rng.integers(0, n, (2, edges))), n)


def report(name: str, edges: Tensor, n: int, nodes: Tensor | None = None, **how: object) -> None:
    structure = Structure.of(edges, n)
    find_egos(structure, PageRank(**how), nodes=torch.arange(2))  # type: ignore[arg-type]
    begin = time.perf_counter()
    egos = find_egos(structure, PageRank(**how), nodes=nodes)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begin
    print(
        f"{name}, {edges.shape[1] // 2} edges, {how}: {len(egos.ids)} egos in {seconds:.2f} s, "
        f"{1000 * seconds / len(egos.ids):.3f} ms each, {int(egos.uncertified.sum())} uncertified",
        flush=True,
    )


def main() -> None:
    n = 18_876
    for clusters in (200, 1):
        edges = nearest_neighbours(n, 22, clusters)
        name = f"{n} points in {clusters} clusters"
        for how in ({}, {"tolerance": 1e-4}, {"steps": 10}):
            report(name, edges, n, torch.arange(1000) if "steps" in how else None, **how)
        report(name, edges, n, torch.arange(1000), rank_by="visits")
    n = 100_000
    edges = uniform(n, 1_000_000)
    for tolerance in (1e-4, 1e-5, None):
        nodes = None if tolerance == 1e-4 else torch.arange(1000)
        report(f"{n} nodes at random", edges, n, nodes, tolerance=tolerance)


if __name__ == "__main__":
    main()

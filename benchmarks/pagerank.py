"""Milliseconds that an ego takes on graphs of the size of Bail, and of a million people.

python benchmarks/pagerank.py [--large]

What others take beside it is measured by `fairgear bench --only pagerank`. This runs on as many
threads as NUMBA_NUM_THREADS says; compiling and reading the graph are not timed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from fairgear.bench.get_ppr import overlap
from fairgear.bench.graphs import scale_free
from fairgear.egos import PageRank, Structure, find_egos
from fairgear.graph import undirected_edges

BAIL, NEAREST, CLUSTERS = 18_876, 22, (200, 1)
LARGE, DEGREE = 1_000_000, 20
# People that slow ways are asked about.
SOME = 1000
WAYS = {
    "exact": PageRank(),
    "close": PageRank(precision="close"),
    "tolerance 1e-4": PageRank(tolerance=1e-4),
    "10 power steps": PageRank(steps=10),
    "exact, by visits": PageRank(rank_by="visits"),
}


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


def attached(n: int, seed: int = 0) -> Tensor:
    """Preferential attachment."""
    pairs = scale_free(n, DEGREE, np.random.default_rng(seed))
    return undirected_edges(torch.from_numpy(pairs), n)


def uniform(n: int, seed: int = 0) -> Tensor:
    """Edges at random."""
    pairs = np.random.default_rng(seed).integers(0, n, (2, n * DEGREE // 2))
    return undirected_edges(torch.from_numpy(pairs), n)


def report(structure: Structure, way: str, people: Tensor | None = None) -> Tensor:
    """Print what the egos take, and how many have a last place in doubt; their members."""
    find_egos(structure, WAYS[way], nodes=torch.arange(2))
    begin = time.perf_counter()
    egos = find_egos(structure, WAYS[way], nodes=people)
    each = 1000 * (time.perf_counter() - begin) / len(egos.ids)
    doubt = int(egos.uncertified.sum())
    print(f"  {way}: {len(egos.ids)} egos, {each:.3f} ms each, {doubt} in doubt", flush=True)
    return egos.ids


def main() -> None:
    """Print a line for each graph and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="a million people as well")
    parser.add_argument("--people", type=int, default=BAIL, help="of the graphs like Bail's")
    typed = parser.parse_args()
    for clusters in CLUSTERS:
        print(f"{typed.people} points in {clusters} clusters", flush=True)
        edges = nearest_neighbours(typed.people, NEAREST, clusters)
        structure = Structure.of(edges, typed.people)
        exact = report(structure, "exact")
        for way in ("close", "tolerance 1e-4"):
            print(f"    overlap with exact {overlap(report(structure, way), exact):.4f}")
        for way in ("10 power steps", "exact, by visits"):
            report(structure, way, torch.arange(min(SOME, typed.people)))
    if typed.large:
        for name, edges in (("random", uniform(LARGE)), ("scale-free", attached(LARGE))):
            print(f"{LARGE} people, {name}", flush=True)
            report(Structure.of(edges, LARGE), "close")


if __name__ == "__main__":
    main()

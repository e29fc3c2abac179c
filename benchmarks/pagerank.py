"""Milliseconds that the ego of a node takes, beside the ways that others have.

python benchmarks/pagerank.py [--large]

Both sides run on as many threads as NUMBA_NUM_THREADS says, take turns, and count at their best of
three, without compiling and without reading the graph. Ours always includes picking the 20 members.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from torch import Tensor
from torch_geometric.utils import ppr

from fairgear.egos import PageRank, Structure, find_egos
from fairgear.graph import undirected_edges

K, ALPHA = 20, 0.15
OVERLAP = 0.995
# Where `get_ppr` is tried for the overlap asked for, from coarse to fine.
TOLERANCES = (1e-4, 8e-5, 6.5e-5, 5e-5, 4e-5, 3e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)
Ints = NDArray[np.int64]


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


def preferential(n: int, links: int, seed: int = 0) -> Tensor:
    """Each new node links to old ones in proportion to their degree."""
    pairs = _preferential(n, links, np.random.default_rng(seed).random((n, links)))
    return undirected_edges(torch.from_numpy(pairs), n)


@numba.njit
def _preferential(n: int, links: int, chance: NDArray[np.float64]) -> Ints:
    ends = np.empty(2 * n * links, np.int64)
    pairs = np.empty((2, (n - links) * links), np.int64)
    ends[:links] = np.arange(links)
    held = links
    for node in range(links, n):
        known = held
        for link in range(links):
            old = ends[int(chance[node, link] * known)]
            pairs[0, (node - links) * links + link] = node
            pairs[1, (node - links) * links + link] = old
            ends[held] = node
            ends[held + 1] = old
            held += 2
    return pairs


def best_of(*ways: Callable[[], object], times: int = 3) -> list[float]:
    """Seconds that each of the ways takes at its best, taking turns."""
    taken = [float("inf")] * len(ways)
    for _ in range(times):
        for place, way in enumerate(ways):
            begin = time.perf_counter()
            way()
            taken[place] = min(taken[place], time.perf_counter() - begin)
    return taken


def get_ppr_push(structure: Structure) -> Callable[[float, Ints], tuple[list[Ints], list[Ints]]]:
    """The compiled part of torch_geometric.utils.get_ppr: the push without set-up and output."""
    ppr.get_ppr(torch.tensor([[0, 1], [1, 0]]), ALPHA, 0.1, torch.tensor([0]), 2)
    compiled, indices = ppr._get_ppr_numba, structure.indices.astype(np.int64)
    return lambda tolerance, nodes: compiled(structure.indptr, indices, ALPHA, tolerance, nodes)


def overlap(found: list[set[int]], exact: list[set[int]]) -> float:
    return float(np.mean([len(a & b) / len(b) for a, b in zip(found, exact, strict=True)]))


def members_of(
    structure: Structure, nodes: Ints, js: list[Ints], values: list[Ints]
) -> list[set[int]]:
    """The first K by importance of what `get_ppr` gives, the centre first."""
    members = []
    for node, seen, value in zip(nodes, js, values, strict=True):
        seen = np.asarray(seen)
        score = np.asarray(value) / structure.degrees[seen]
        score[seen == node] = np.inf
        members.append(set(seen[np.argsort(-score, kind="stable")[:K]].tolist()))
    return members


def scipy_power(structure: Structure, nodes: Ints, steps: int = 50) -> None:
    inverse = 1.0 / np.maximum(structure.degrees, 1)
    n = structure.num_nodes
    ones = np.ones(len(structure.indices))
    walk = sparse.csr_array((ones, structure.indices, structure.indptr), shape=(n, n))
    walk = walk @ sparse.diags_array(inverse)
    for node in nodes:
        x = np.zeros(n)
        x[node] = 1.0
        for _ in range(steps):
            x = (1 - ALPHA) * (walk @ x)
            x[node] += ALPHA
        score = x * inverse
        score[node] = np.inf
        np.argpartition(-score, K)[:K]


def plain_python(structure: Structure, nodes: Ints, tolerance: float) -> None:
    indptr, indices = structure.indptr, structure.indices
    for node in nodes.tolist():
        settled: dict[int, float] = {}
        residual = {node: 1.0}
        queue = [node]
        while queue:
            u = queue.pop(0)
            neighbours = indices[indptr[u] : indptr[u + 1]].tolist()
            moved = residual[u]
            residual[u] = 0.0
            settled[u] = settled.get(u, 0.0) + ALPHA * moved
            share = (1 - ALPHA) * moved / len(neighbours)
            for v in neighbours:
                before = residual.get(v, 0.0)
                residual[v] = before + share
                limit = tolerance * int(indptr[v + 1] - indptr[v])
                if before <= limit < before + share:
                    queue.append(v)
        sorted(settled, key=lambda v: -settled[v] / int(indptr[v + 1] - indptr[v]))[:K]


def line(name: str, what: str, others: float, ours: float, remark: str = "") -> None:
    ratio = f"{others / ours:7.1f}" if ours else ""
    print(f"| {name} | {what} | {others:9.4f} | {ours:8.4f} | {ratio} | {remark} |", flush=True)


def compare(name: str, edges: Tensor, n: int, sample: int = 2000) -> None:
    """One graph: `get_ppr` at equal tolerance and at equal overlap; then SciPy and plain Python."""
    structure = Structure.of(edges, n)
    nodes = np.random.default_rng(1).permutation(np.flatnonzero(structure.degrees))[:sample]
    push = get_ppr_push(structure)
    push(1e-2, nodes[:2])

    def ours(some: Ints, **how: object) -> Callable[[], object]:
        method = PageRank(k=K, alpha=ALPHA, **how)  # type: ignore[arg-type] # from a dict
        find_egos(structure, method, nodes=torch.from_numpy(some[:2]))
        return partial(find_egos, structure, method, nodes=torch.from_numpy(some))

    for tolerance in (1e-4, 1e-5):
        some = nodes if tolerance == 1e-4 else nodes[:400]
        taken = best_of(partial(push, tolerance, some), ours(some, tolerance=tolerance))
        line(name, f"get_ppr, tolerance {tolerance:g}", *(1000 * t / len(some) for t in taken))
    some = nodes[:200]
    exact = [set(row.tolist()) for row in ours(some)().ids]  # type: ignore[attr-defined] # an Egos
    close = ours(some, precision="close")
    reached = overlap([set(r.tolist()) for r in close().ids], exact)  # type: ignore[attr-defined] # an Egos
    for tolerance in TOLERANCES:
        theirs = overlap(members_of(structure, some, *push(tolerance, some)), exact)
        if theirs >= OVERLAP:
            break
    taken = best_of(partial(push, tolerance, some), close)
    remark = f"overlap {theirs:.4f} and {reached:.4f}"
    line(
        name,
        f"get_ppr, overlap (tolerance {tolerance:g})",
        *(1000 * t / 200 for t in taken),
        remark,
    )
    taken = [best_of(partial(scipy_power, structure, nodes[:3]), times=1)[0], taken[1]]
    line(name, "SciPy, 50 power steps", 1000 * taken[0] / 3, 1000 * taken[1] / 200, "ours: close")
    plain = best_of(partial(plain_python, structure, nodes[:10], 1e-4), times=1)[0]
    same = best_of(ours(nodes, tolerance=1e-4))[0]
    line(name, "plain Python, tolerance 1e-4", 100 * plain, 1000 * same / sample)


def report(name: str, edges: Tensor, n: int, nodes: Tensor | None = None, **how: object) -> None:
    """Seconds that our egos take, and how many have a last place in doubt."""
    structure = Structure.of(edges, n)
    method = PageRank(**how)  # type: ignore[arg-type] # from a dict
    find_egos(structure, method, nodes=torch.arange(2))
    begin = time.perf_counter()
    egos = find_egos(structure, method, nodes=nodes)
    seconds = time.perf_counter() - begin
    print(
        f"{name}, {edges.shape[1] // 2} edges, {how}: {len(egos.ids)} egos in {seconds:.2f} s, "
        f"{1000 * seconds / len(egos.ids):.3f} ms each, {int(egos.uncertified.sum())} in doubt",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="a million nodes as well")
    large = parser.parse_args().large
    n = 100_000
    graphs = {"random": uniform(n, 10 * n), "scale-free": preferential(n, 10)}
    print(f"{n} nodes, {10 * n} edges, {numba.config.NUMBA_NUM_THREADS} threads, ms a node\n")
    print("| graph | beside | theirs | ours | ratio | |\n|---|---|---:|---:|---:|---|")
    for name, edges in graphs.items():
        compare(name, edges, n)
    print()
    n = 18_876
    for clusters in (200, 1):
        edges = nearest_neighbours(n, 22, clusters)
        name = f"{n} points in {clusters} clusters"
        for how in ({}, {"precision": "close"}, {"tolerance": 1e-4}, {"steps": 10}):
            report(name, edges, n, torch.arange(1000) if "steps" in how else None, **how)
        report(name, edges, n, torch.arange(1000), rank_by="visits")
    if large:
        n = 1_000_000
        for name, edges in (("random", uniform(n, 10 * n)), ("scale-free", preferential(n, 10))):
            report(f"{n} nodes, {name}", edges, n, precision="close")


if __name__ == "__main__":
    main()

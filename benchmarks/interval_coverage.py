"""How often the 95 % intervals of flip rates contain the rate, where flips go together.

    .venv/bin/python -m benchmarks.interval_coverage all    # four minutes of one core
    .venv/bin/python -m benchmarks.interval_coverage map    # the graphs of this name
    .venv/bin/python -m benchmarks.interval_coverage        # the table from the rows so far

A person flips where a latent Gaussian value exceeds a threshold. Its correlation has a part that
people share (`SHARED`) and a rest of their own. The rate is that of the threshold, so an interval
covers where it holds for new people in new communities. Rules: communities that flip as one where
little is known (`as one`), the assumed correlation of the package (`communities`), and that with
the regions of the graph (`regions`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, eye_array
from scipy.spatial import cKDTree
from scipy.special import ndtri

from benchmarks import RESULTS
from fairgear import datasets
from fairgear.auditing.provenance import source_commit
from fairgear.graph import SensitiveGraph, communities, regions, undirected_edges
from fairgear.metrics import Interval, rate_interval
from fairgear.metrics.inputs import Floats, Integers

Field = NDArray[np.float32]

ROWS = RESULTS / "interval_coverage.csv"
RATES = (0.0, 0.002, 0.01, 0.05, 0.1, 0.2)
REPETITIONS = 300
LEVELS = 20

# Shares of the latent variance. `community`: those of the graph. `area`: of 16 people chosen at
# random, the nearest in the graph; it knows nothing of communities. `two steps`, `six steps`: the
# mean over random walks, as in networks of so many layers. `feature`: one of 20 values, which
# people have regardless of the graph, with effects that are drawn anew: another model.
SHARED: dict[str, dict[str, float]] = {
    "nothing": {},
    "community 0.1": {"community": 0.1},
    "community 0.3": {"community": 0.3},
    "area 0.1": {"area": 0.1},
    "area 0.3": {"area": 0.3},
    "community 0.1, area 0.1": {"community": 0.1, "area": 0.1},
    "two steps 0.3": {"two steps": 0.3},
    "six steps 0.1": {"six steps": 0.1},
    "six steps 0.3": {"six steps": 0.3},
    "feature 0.1": {"feature": 0.1},
}


def nearest(points: Floats) -> SensitiveGraph:
    """Everyone linked to the eight nearest."""
    n = len(points)
    found = np.asarray(cKDTree(points).query(points, 9)[1])
    return _graph(np.stack([np.repeat(np.arange(n), 8), found[:, 1:].ravel()]), n)


def ring_of_blocks(n: int, rng: np.random.Generator) -> SensitiveGraph:
    """Blocks of very unequal size: most links within, some to the next block, few anywhere."""
    sizes = np.exp(rng.normal(math.log(math.sqrt(n)), 0.9, n)).clip(5, n / 8).astype(np.int64)
    block = np.repeat(np.arange(n), sizes)[:n]
    first, count = np.searchsorted(block, np.arange(block[-1] + 2)), block[-1] + 1

    def links(times: int, share: float, to: Integers) -> Integers:
        source = np.repeat(np.flatnonzero(rng.random(n) < share), times)
        start, stop = first[to[source]], first[to[source] + 1]
        return np.stack([source, rng.integers(start, stop)])

    anywhere = np.stack([np.arange(0, n, 5), rng.integers(0, n, len(range(0, n, 5)))])
    return _graph(
        np.concatenate([links(4, 1, block), links(1, 0.8, (block + 1) % count), anywhere], 1), n
    )


def mixture(n: int, rng: np.random.Generator) -> Floats:
    """Features of people in twelve groups of unequal size, for a similarity graph."""
    group = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    return np.asarray(1.2 * rng.normal(size=(12, 6))[group] + rng.normal(size=(n, 6)))


def _graph(pairs: Integers, n: int) -> SensitiveGraph:
    edges = undirected_edges(torch.from_numpy(pairs[:, pairs[0] != pairs[1]]), n)
    return SensitiveGraph(torch.ones(n, 1), edges, sens=torch.zeros(n).long())


GRAPHS: dict[str, Callable[[np.random.Generator], SensitiveGraph]] = {
    "map, 400": lambda rng: nearest(rng.random((400, 2))),
    "map, 4,000": lambda rng: nearest(rng.random((4000, 2))),
    "blocks, 1,000": lambda rng: ring_of_blocks(1000, rng),
    "similarity, 2,000": lambda rng: nearest(mixture(2000, rng)),
    "synthetic, 2,000": lambda rng: datasets.load("synthetic"),
    "german, 1,000": lambda rng: datasets.load("german"),
}


def fields(graph: SensitiveGraph, rng: np.random.Generator) -> dict[str, Callable[[], Field]]:
    """What people may share: each gives a standard normal value for everyone."""
    n = len(graph.x)
    source, target = graph.edge_index.numpy()
    adjacency = csr_matrix((np.ones(len(source)), (source, target)), shape=(n, n)) + eye_array(n)
    walk = (adjacency / adjacency.sum(axis=1)[:, None]).toarray().astype(np.float32)

    def walks(power: int) -> Callable[[], Field]:
        matrix = np.linalg.matrix_power(walk, power)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        return lambda: (matrix @ rng.standard_normal((n, REPETITIONS), np.float32)).T

    def groups(label: Integers) -> Callable[[], Field]:
        return lambda: rng.standard_normal((REPETITIONS, label.max() + 1), np.float32)[:, label]

    return {
        "community": groups(communities(graph).numpy()),
        "area": groups(_areas(walk > 0, rng)),
        "two steps": walks(2),
        "six steps": walks(6),
        "feature": groups(rng.integers(0, LEVELS, n)),
    }


def _areas(linked: Any, rng: np.random.Generator) -> Integers:
    """Of 16 people, the one that is fewest links away; whoever is linked to none is alone."""
    n = len(linked)
    label = np.full(n, -1)
    label[rng.choice(n, 16, replace=False)] = np.arange(16)
    while True:
        reached = (label < 0) & linked[:, label >= 0].any(axis=1)
        if not reached.any():
            break
        known = np.flatnonzero(label >= 0)
        label[reached] = label[known[linked[np.ix_(reached, known)].argmax(axis=1)]]
    label[label < 0] = 16 + np.arange((label < 0).sum())
    return label


def measure(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one graph: coverage and mean width of each rule."""
    rng = np.random.default_rng(0)
    graph = GRAPHS[name](rng)
    clusters, areas = communities(graph).numpy(), regions(graph).numpy()
    rules: dict[str, Callable[[Floats], Interval]] = {
        "as one": lambda hits: rate_interval(hits, clusters, correlation=1.0),
        "communities": lambda hits: rate_interval(hits, clusters),
        "regions": lambda hits: rate_interval(hits, clusters, regions=areas),
    }
    draw = fields(graph, rng)
    for shared, parts in SHARED.items():
        own = math.sqrt(1 - sum(parts.values()))
        latent = own * rng.standard_normal((REPETITIONS, len(clusters)), np.float32)
        for part, share in parts.items():
            latent += math.sqrt(share) * draw[part]()
        for rate in RATES if shared == "nothing" else RATES[1:]:
            hits = (latent > ndtri(1 - rate)).astype(np.float64)
            for rule, interval in rules.items():
                found = [interval(one) for one in hits]
                yield {
                    "graph": name,
                    "shared": shared,
                    "rate": rate,
                    "rule": rule,
                    "covered": round(sum(rate in one for one in found) / len(found), 4),
                    "width": round(float(np.mean([one.high - one.low for one in found])), 5),
                    "commit": source_commit(),
                }


def table() -> str:
    """Coverage at the worst of the rates from 0.05, by communities alone → with regions."""
    rows = pd.read_csv(ROWS)
    names = [name for name in GRAPHS if name in set(rows["graph"])]
    worst = rows[rows["rate"] >= 0.05].groupby(["rule", "shared", "graph"])["covered"].min()
    lines = [f"| shared | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for shared in SHARED:
        pairs = [(worst["communities", shared, g], worst["regions", shared, g]) for g in names]
        cells = [f"{alone:.2f} → {both:.2f}" for alone, both in pairs]
        lines.append(f"| {shared} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", help="how the names of the graphs begin, or all")
    start = parser.parse_args().graph
    if start is not None:
        chosen = [name for name in GRAPHS if start == "all" or name.startswith(start)]
        rows = pd.DataFrame([row for name in chosen for row in measure(name)])
        if ROWS.exists():
            before = pd.read_csv(ROWS)
            rows = pd.concat([before[~before["graph"].isin(chosen)], rows])
        rows.to_csv(ROWS, index=False)
    print(table())

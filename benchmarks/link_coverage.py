"""How often the 95 % intervals of measures of pairs contain the truth, where pairs go together.

    .venv/bin/python -m benchmarks.link_coverage all    # minutes of one core
    .venv/bin/python -m benchmarks.link_coverage map    # the graphs of this name
    .venv/bin/python -m benchmarks.link_coverage        # the table from the rows so far

The pairs are those of `split_links`, links and as many others. Each has a latent Gaussian value, of
which a share is that of its ends: √(share) · (f_i + f_j) over its standard deviation, for fields f
that people have in common in several ways, or that every pair of communities has. The rest is its
own. A rate is that of values above a threshold; the gap that of pairs whose ends are of one group
and others, with another threshold; scores of linked pairs are shifted by one standard deviation
for AUROC and average precision; R² is that of hits on surroundings which they do not depend on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_matrix, diags_array, eye_array
from scipy.special import ndtr, ndtri

from benchmarks import RESULTS
from benchmarks.interval_coverage import GRAPHS
from fairgear.auditing.provenance import source_commit
from fairgear.graph import SensitiveGraph, communities, regions
from fairgear.links import split_links
from fairgear.links.cells import PairGroups
from fairgear.links.clusters import PairClusters
from fairgear.links.intervals import PairBootstrap
from fairgear.links.measures import factual_estimates, surroundings_of
from fairgear.metrics.inputs import Floats, Integers

ROWS = RESULTS / "link_coverage.csv"
NAMES = ("map, 400", "map, 4,000", "blocks, 1,000", "synthetic, 2,000")
RATES = (0.0, 0.01, 0.05, 0.2)
REPETITIONS, BOOTSTRAPPED = 300, 100
# The rates of pairs within a group and of others, and how far linked pairs score above others.
SIDES, SHIFT = (0.3, 0.4), 1.0

# Shares of the latent variance. `person`: each end's own; `community`: of the communities of both
# ends; `two steps`: the mean over random walks; `pair`: of the pair of communities.
SHARED: dict[str, dict[str, float]] = {
    "nothing": {},
    "person 0.3": {"person": 0.3},
    "community 0.1": {"community": 0.1},
    "community 0.3": {"community": 0.3},
    "pair 0.3": {"pair": 0.3},
    "person 0.2, community 0.2": {"person": 0.2, "community": 0.2},
    "two steps 0.3": {"two steps": 0.3},
}


@dataclass(frozen=True, eq=False)
class Case:
    """A graph, its pairs, and what may be shared."""

    graph: SensitiveGraph
    ends: Integers
    linked: Integers
    rng: np.random.Generator

    @cached_property
    def clusters(self) -> list[PairClusters]:
        """Communities and regions of both ends."""
        return [
            PairClusters.of(*of(self.graph).numpy()[self.ends]) for of in (communities, regions)
        ]

    @cached_property
    def fields(self) -> dict[str, csr_matrix]:
        """(m, sources) with rows of length 1: each pair's part of independent normal values."""
        n = len(self.graph.x)
        label = communities(self.graph).numpy()
        source, target = self.graph.edge_index.numpy()
        step = csr_matrix((np.ones(len(source)), (source, target)), shape=(n, n)) + eye_array(n)
        walk = diags_array(1 / np.asarray(step.sum(axis=1)).ravel()) @ step
        one_hot = csr_matrix((np.ones(n), (np.arange(n), label)))
        by_person = {"person": eye_array(n).tocsr(), "community": one_hot, "two steps": walk @ walk}
        found = {name: self._of_ends(_unit(rows)) for name, rows in by_person.items()}
        unit, m = self.clusters[0].units[2], self.ends.shape[1]
        return found | {"pair": csr_matrix((np.ones(m), (np.arange(m), unit)))}

    def _of_ends(self, rows: csr_matrix) -> csr_matrix:
        return _unit(rows[self.ends[0]] + rows[self.ends[1]])

    def latent(self, parts: dict[str, float], count: int) -> Floats:
        """Standard normal values (count, m)."""
        own = math.sqrt(1 - sum(parts.values()))
        found = own * self.rng.standard_normal((count, self.ends.shape[1]))
        for name, share in parts.items():
            field = self.fields[name]
            drawn = self.rng.standard_normal((field.shape[1], count))
            found += math.sqrt(share) * (field @ drawn).T
        return found


def _unit(rows: Any) -> csr_matrix:
    """Rows of length 1."""
    rows = csr_matrix(rows)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_matrix(diags_array(1 / length) @ rows)


def case(name: str) -> Case:
    """The pairs of a graph, with groups that say nothing."""
    rng = np.random.default_rng(0)
    graph = GRAPHS[name](rng)
    graph = graph.replace(sens=torch.from_numpy(rng.integers(0, 2, len(graph.x))), mechanism=None)
    split = split_links(graph)
    return Case(split.input, split.test.ends.numpy(), split.test.linked.numpy(), rng)


def measure(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one graph: coverage and mean width of each measure."""
    given = case(name)
    groups = PairGroups.of(given.graph, given.ends)
    summary = surroundings_of(given.graph, torch.from_numpy(given.ends))
    for shared, parts in SHARED.items():
        bootstrap = PairBootstrap(*given.clusters)
        latent = given.latent(parts, REPETITIONS)
        for rate in RATES if shared == "nothing" else RATES[1:]:
            hits = (latent > ndtri(1 - rate)).astype(np.float64)
            for rule, by_region in (("", False), (", regions", True)):
                ends = [bootstrap.rate(one, by_region=by_region).interval for one in hits]
                yield _row(given, name, shared, f"rate {rate:g}{rule}", rate, ends)
        cut = np.where(groups.different == 1, *(ndtri(1 - side) for side in SIDES[::-1]))
        found: dict[str, list[Any]] = {}
        for values in latent[:BOOTSTRAPPED]:
            labels = (values > cut).astype(np.int64)
            scores = values + SHIFT * given.linked
            estimates = factual_estimates(
                given.linked, scores, labels, groups, summary, bootstrap, k=10
            )
            estimates["r2"] = bootstrap.dependence((values > 0).astype(np.float64), summary)
            for key, estimate in estimates.items():
                found.setdefault(key, []).append(estimate.interval)
        for key, truth in _truths(given).items():
            yield _row(given, name, shared, key, truth, found[key])


def _truths(given: Case) -> dict[str, float]:
    return {
        "gap_same_different": SIDES[1] - SIDES[0],
        "auroc": float(ndtr(SHIFT / math.sqrt(2))),
        "average_precision": _precision(float(given.linked.mean())),
        "r2": 0.0,
    }


def _precision(prevalence: float) -> float:
    """Average precision of normal scores: the mean over linked pairs of the precision at theirs."""
    scores = ndtri((np.arange(100_000) + 0.5) / 100_000) + SHIFT
    right, wrong = prevalence * (1 - ndtr(scores - SHIFT)), (1 - prevalence) * (1 - ndtr(scores))
    return float((right / (right + wrong)).mean())


def _row(
    given: Case, name: str, shared: str, what: str, truth: float, ends: list[Any]
) -> dict[str, Any]:
    return {
        "graph": name,
        "pairs": len(given.linked),
        "shared": shared,
        "measure": what,
        "covered": round(sum(truth in one for one in ends) / len(ends), 4),
        "width": round(float(np.mean([one.high - one.low for one in ends])), 5),
        "commit": source_commit(),
    }


def table() -> str:
    """At the worst of the rates from 0.05, of flips (with regions) and of others; then all else."""
    rows = pd.read_csv(ROWS)
    names = [name for name in NAMES if name in set(rows["graph"])]
    large = ("rate 0.05", "rate 0.2")
    kinds = (
        rows["measure"].isin([f"{one}, regions" for one in large]),
        rows["measure"].isin(large),
        ~rows["measure"].str.startswith("rate"),
    )
    worst = [rows[of].groupby(["shared", "graph"])["covered"].agg(["min", "mean"]) for of in kinds]
    lines = [f"| shared | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for shared in SHARED:
        cells = [
            " · ".join(
                f"{float(of[how][shared, graph]):.2f}"
                for of, how in zip(worst, ("min", "min", "mean"), strict=True)
            )
            for graph in names
        ]
        lines.append(f"| {shared} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", help="how the names of the graphs begin, or all")
    start = parser.parse_args().graph
    if start is not None:
        chosen = [name for name in NAMES if start == "all" or name.startswith(start)]
        rows = pd.DataFrame([row for name in chosen for row in measure(name)])
        if ROWS.exists():
            before = pd.read_csv(ROWS)
            rows = pd.concat([before[~before["graph"].isin(chosen)], rows])
        rows.to_csv(ROWS, index=False)
    print(table())

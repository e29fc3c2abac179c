"""Graphs to measure on: any size, three kinds, with a label that can be learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from benchmarks.bench.plan import Plan
from fairgear.compiled import compiled
from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, split, undirected_edges
from fairgear.methods import GearPaperConfig

Ints = NDArray[np.int64]
# Egos are found for this many people; what is timed per ego needs no more.
POOL = 4096
# The space of similarity graphs: low, so that a tree finds neighbours among millions.
DIMENSIONS, CLUSTERS = 2, 8


@dataclass(frozen=True)
class Scene:
    """What all measurements on one graph share: the graph, the plan, the egos of some people."""

    graph: SensitiveGraph
    plan: Plan

    @cached_property
    def index(self) -> EgoIndex:
        """Egos of some people, found as Gear does at the graph's size."""
        people = self.people(POOL)
        precision = GearPaperConfig().ego_precision(len(self.graph.x))
        return EgoIndex.build(self.graph, nodes=people, precision=precision)

    def people(self, count: int) -> Tensor:
        """Rows of `count` people, or of all, drawn from the seed; a shorter draw is its start."""
        order = np.random.default_rng([self.plan.seed, 1]).permutation(len(self.graph.x))
        return torch.from_numpy(order[:count])


def make_graph(
    kind: str, n: int, *, degree: int = 20, features: int = 32, seed: int = 0
) -> SensitiveGraph:
    """A graph of `n` people with about `degree` neighbours each, split sixty-twenty-twenty."""
    rng = np.random.default_rng([seed, n])
    pairs = _GENERATORS[kind](n, degree, rng)
    edges = undirected_edges(torch.from_numpy(pairs), n)
    x, y, sens = _people(n, features, edges.numpy(), rng)
    graph = SensitiveGraph(
        torch.from_numpy(x),
        edges,
        torch.from_numpy(y),
        torch.from_numpy(sens),
        sens_column=features - 1,
        name=f"{kind} {n}",
    )
    return split(graph, seed=seed)


def scale_free(n: int, degree: int, rng: np.random.Generator) -> Ints:
    """Preferential attachment: each newcomer links to degree/2 ends of the edges before it.

    An end of an edge drawn at random is a node drawn in proportion to its degree. Pairs drawn
    twice are merged, so the average degree is a little below `degree`.
    """
    each = max(1, degree // 2)
    return _attach(n, each, rng.random((n - each - 1) * each))


@compiled
def _attach(n: int, each: int, uniform: NDArray[np.float64]) -> Ints:
    # The first each + 1 nodes form a clique.
    core = each * (each + 1) // 2
    pairs = np.empty((2, core + len(uniform)), np.int64)
    at = 0
    for a in range(each + 1):
        for b in range(a):
            pairs[0, at], pairs[1, at] = a, b
            at += 1
    drawn = 0
    for node in range(each + 1, n):
        before = at
        for _ in range(each):
            end = int(uniform[drawn] * 2 * before)
            drawn += 1
            pairs[0, at] = node
            pairs[1, at] = pairs[end % 2, end // 2]
            at += 1
    return pairs


def random_pairs(n: int, degree: int, rng: np.random.Generator) -> Ints:
    """Any two people, as likely as any other two."""
    return rng.integers(0, n, (2, n * degree // 2))


def similarity(n: int, degree: int, rng: np.random.Generator) -> Ints:
    """Each person's nearest neighbours among points in a few clusters, either way round."""
    centres = rng.normal(size=(CLUSTERS, DIMENSIONS)) * 4.0
    points = centres[rng.integers(0, CLUSTERS, n)] + rng.normal(size=(n, DIMENSIONS))
    # Being near is mostly mutual: m nearest each make about 1.11 m neighbours.
    nearest = max(1, round(degree / 1.11))
    found = np.asarray(cKDTree(points).query(points, nearest + 1)[1], np.int64)[:, 1:]
    return np.stack([np.repeat(np.arange(n), nearest), found.ravel()])


_GENERATORS: dict[str, Callable[[int, int, np.random.Generator], Ints]] = {
    "scale-free": scale_free,
    "similarity": similarity,
    "random": random_pairs,
}


def _people(
    n: int, features: int, edges: Ints, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Ints, Ints]:
    """Features, labels, groups: s moves half of the columns, a person and neighbours decide y.

    The last column is s. Features that s does not touch also decide y, so a fair model can learn
    something.
    """
    sens = (rng.random(n) < 0.5).astype(np.int64)
    x = rng.standard_normal((n, features), dtype=np.float32)
    moved = (features - 1) // 2
    x[:, :moved] += 0.5 * sens[:, None].astype(np.float32)
    x[:, -1] = sens
    weight = rng.standard_normal(features - 1).astype(np.float32)
    own = x[:, :-1] @ weight / np.sqrt(features - 1)
    degree = np.maximum(np.bincount(edges[0], minlength=n), 1)
    around = np.bincount(edges[0], weights=own[edges[1]], minlength=n) / degree
    score = own + around + 0.5 * rng.standard_normal(n)
    return x, (score > np.median(score)).astype(np.int64), sens

"""Graphs drawn from a known edge model, and that model written out over n×n matrices."""

from __future__ import annotations

import math

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph
from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.terms import Coefficients
from fairgear.graph import undirected_edges
from fairgear.hashing import pair_uniform

# intercept, likeness, degree, groups 0-1, groups 1-1
TRUTH = np.array([-5.5, 7.0, 0.0, -0.6, 0.5])
BIG = 2**53


def people(n: int, seed: int = 0, theta: Floats = TRUTH) -> Factual:
    """Factual whose edges follow `theta`; by Gibbs sampling where degrees count."""
    rng = np.random.default_rng(seed)
    sens = (rng.random(n) < 0.4).astype(np.int64)
    table = rng.standard_normal((n, 3)) * [1.0, 5.0, 0.2] + 0.6 * sens[:, None] * [1.0, 5.0, 0.2]
    levels = np.array([0.0, theta[3], theta[4]])[sens[:, None] + sens[None]]
    logits = theta[0] + theta[1] * alike(table) + levels
    edges = np.stack(np.nonzero(np.triu(_gibbs(logits, float(theta[2]), rng), 1)))
    return Factual(np.arange(n) + BIG, np.arange(n), table, sens, edges.astype(np.int64))


def social_graph(n: int = 150, seed: int = 0, theta: Floats = TRUTH) -> SensitiveGraph:
    """The same as a graph, with the attribute in column 0, ids beyond 2⁵³, rows in any order."""
    drawn = people(n, seed, theta)
    rng = np.random.default_rng(seed)
    sens = torch.from_numpy(drawn.sens)
    x = np.column_stack([drawn.sens, drawn.table]).astype(np.float32)
    part = torch.arange(n) % 3
    graph = SensitiveGraph(
        torch.from_numpy(x),
        undirected_edges(torch.from_numpy(drawn.edges), n),
        torch.from_numpy(rng.integers(0, 2, n)),
        sens,
        sens_column=0,
        node_id=torch.from_numpy(drawn.ids),
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
    )
    return graph.permute(torch.from_numpy(rng.permutation(n)))


def alike(table: Floats, scale: Floats | None = None) -> Floats:
    """1/(1 + distance) of every pair; columns by their standard deviation if no scale is given."""
    scale = 1 / table.std(axis=0) / np.sqrt(table.shape[1]) if scale is None else scale
    scaled = table * scale
    distance = np.sqrt(((scaled[:, None] - scaled[None]) ** 2).sum(axis=-1))
    result: Floats = 1 / (1 + distance)
    return result


def probabilities(
    adjacency: Floats, sens: Integers, likeness: Floats, weights: Coefficients
) -> Floats:
    """p of every pair, with the degrees of `adjacency` that do not count the pair itself."""
    n = len(sens)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            own_i = adjacency[i].sum() - adjacency[i, j]
            own_j = adjacency[j].sum() - adjacency[i, j]
            logit = weights.intercept + weights.slope * likeness[i, j]
            logit += weights.degree * (np.log(1 + own_i) + np.log(1 + own_j))
            logit += weights.groups[sens[i] + sens[j]]
            result[i, j] = 1 / (1 + np.exp(-logit))
    return result


def chances(adjacency: Floats, before: Floats, after: Floats) -> Floats:
    """That each pair is an edge in the other world, given that it is or is not one in fact."""
    kept = np.minimum(1.0, after / before)
    added = np.maximum(0.0, (after - before) / (1 - before))
    return np.where(adjacency == 1, kept, added)


def noise(ids: Integers, seed: int) -> Floats:
    """u of every pair."""
    n = len(ids)
    flat = pair_uniform(np.repeat(ids, n), np.tile(ids, n), seed, "edges")
    return flat.reshape(n, n)


def adjacency_of(drawn: Factual) -> Floats:
    matrix = np.zeros((drawn.n, drawn.n))
    matrix[drawn.edges[0], drawn.edges[1]] = matrix[drawn.edges[1], drawn.edges[0]] = 1
    return matrix


def _gibbs(logits: Floats, degree: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each edge in turn, given all others; independent edges need no turns."""
    n = len(logits)
    first = np.triu(rng.random((n, n)) < 1 / (1 + np.exp(-logits)), 1).astype(np.int64)
    if degree == 0:
        return first
    _sweeps(first, (first + first.T).sum(axis=1), logits, degree, rng.random(12 * n * n))
    return first


@numba.njit  # type: ignore[untyped-decorator]  # numba ships no types
def _sweeps(
    edges: Integers, degrees: Integers, logits: Floats, degree: float, draws: Floats
) -> None:
    used = 0
    for _ in range(12):
        for i in range(len(edges)):
            for j in range(i + 1, len(edges)):
                own = edges[i, j]
                others = math.log1p(degrees[i] - own) + math.log1p(degrees[j] - own)
                new = int(draws[used] < 1 / (1 + math.exp(-logits[i, j] - degree * others)))
                edges[i, j] = new
                degrees[i] += new - own
                degrees[j] += new - own
                used += 1

"""The factual graph in canonical order, and the pairs that an edge model is fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.hashing import node_hash, pair_uniform

# Up to this many pairs (2,000 people), all of them are used.
ALL_PAIRS = 2_000_000
# Beyond so many people, a sample of so many edges is used, and twice as many non-edges: a parameter
# is then known to a hundredth or two.
SAMPLED_ABOVE, EDGES = 50_000, 500_000
# For cross-validation.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Factual:
    """Ids, features, groups and edges, sorted by id.

    Everything downstream is computed in this order, so results do not depend on the order of the
    graph's rows, to the bit.

    Attributes:
        ids: (n,), ascending.
        order: (n,), the graph's row of each.
        table: (n, d), features.
        sens: (n,), groups from 0, or numbers.
        edges: (2, m), each once, the lower end first, sorted.
        groups: how many there are; 0 where the attribute is a number.
    """

    ids: Integers
    order: Integers
    table: Floats
    sens: NDArray[Any]
    edges: Integers
    groups: int = 2

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Factual:
        """From a graph."""
        order, edges = graph.canonical.rows.numpy(), graph.canonical.edge_index.numpy()
        kind = np.float64 if graph.continuous else np.int64
        return cls(
            ids=graph.node_id.cpu().numpy()[order],
            order=order,
            table=graph.x.cpu().numpy().astype(np.float64)[order],
            sens=graph.sens.cpu().numpy().astype(kind)[order],
            edges=np.ascontiguousarray(edges[:, edges[0] < edges[1]]),
            groups=0 if graph.continuous else graph.num_groups,
        )

    @property
    def code(self) -> tuple[float, float]:
        """The mean and the standard deviation of a number; 0 and 1 of groups."""
        if self.groups:
            return 0.0, 1.0
        # All the same: the deviation of equal numbers can be a rounding error above 0.
        varies = np.ptp(self.sens) > 0
        return float(self.sens.mean()), float(self.sens.std()) if varies else 1.0

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.ids)

    @property
    def num_pairs(self) -> int:
        """The number of pairs of people."""
        return self.n * (self.n - 1) // 2

    @cached_property
    def degree(self) -> Integers:
        """(n,), the number of neighbours."""
        return np.bincount(self.edges.ravel(), minlength=self.n)

    @cached_property
    def lists(self) -> tuple[Integers, Integers]:
        """Where the neighbours of each person begin, and the neighbours."""
        both = np.concatenate([self.edges, self.edges[::-1]], axis=1)
        order = np.argsort(both[0], kind="stable")
        begin = np.searchsorted(both[0][order], np.arange(self.n + 1))
        return begin, both[1][order]

    @cached_property
    def _log_degrees(self) -> Floats:
        # One logarithm per degree: equal degrees give equal bits wherever they stand.
        return np.log1p(np.arange(int(self.degree.max(initial=0)) + 1, dtype=np.float64))

    @cached_property
    def _edge_keys(self) -> Integers:
        return self.keys(self.edges[0], self.edges[1])

    def keys(self, first: Integers, second: Integers) -> Integers:
        """One number per pair, whichever end comes first."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        return low * self.n + high

    def non_edges(self, keys: Integers) -> tuple[Integers, Integers, NDArray[np.bool_]]:
        """The pairs with these keys that are not edges, and which of the keys they are."""
        first, second = keys // self.n, keys % self.n
        apart = ~self.joined(first, second)
        return first[apart], second[apart], apart

    def joined(self, first: Integers, second: Integers) -> NDArray[np.bool_]:
        """Which pairs are edges."""
        wanted = self.keys(first, second)
        if not len(self._edge_keys):
            return np.zeros(len(wanted), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._edge_keys, wanted), len(self._edge_keys) - 1)
        return np.asarray(self._edge_keys[at] == wanted)

    def activity(self, first: Integers, second: Integers, joined: Integers) -> Floats:
        """log(1 + d_i) + log(1 + d_j), neither counting the other; `joined` is 1 for edges."""
        logs, degree = self._log_degrees, self.degree
        result: Floats = logs[degree[first] - joined] + logs[degree[second] - joined]
        return result

    def edge_index(self, pairs: Integers) -> Tensor:
        """Pairs (2, m) as the edges of a graph in its own row order."""
        return undirected_edges(torch.from_numpy(self.order[pairs]), self.n)


@dataclass(frozen=True, eq=False)
class Pairs:
    """A weighted sample of pairs.

    Attributes:
        first, second: the two people.
        joined: 1 for edges.
        weight: the inverse of the sampling probability; 1 for all edges or pairs.
        fold: 0 to 4, by a hash of the two ids.
    """

    first: Integers
    second: Integers
    joined: Integers
    weight: Floats
    fold: Integers

    def __len__(self) -> int:
        return len(self.first)


def pairs_of(factual: Factual, seed: int, *, all_pairs: int = ALL_PAIRS) -> Pairs:
    """Every edge, with all non-edges of a small graph or a sample of those of a large one.

    Of a graph with more than `EDGES` among more than `SAMPLED_ABOVE` people, edges are sampled too.
    """
    if factual.num_pairs <= all_pairs:
        first, second = (side.astype(np.int64) for side in np.triu_indices(factual.n, 1))
        joined = factual.joined(first, second).astype(np.int64)
        weight = np.ones(len(first))
    else:
        edges, wanted = factual.edges, max(all_pairs, factual.edges.shape[1])
        if factual.n > SAMPLED_ABOVE and edges.shape[1] > EDGES:
            edges, wanted = _sampled_edges(factual, seed), 2 * EDGES
        low, high, weights = _sampled_non_edges(factual, wanted, seed)
        first = np.concatenate([edges[0], low])
        second = np.concatenate([edges[1], high])
        joined = np.repeat(np.array([1, 0]), [edges.shape[1], len(low)])
        each = factual.edges.shape[1] / edges.shape[1]
        weight = np.concatenate([np.full(edges.shape[1], each), weights])
    place = pair_uniform(factual.ids[first], factual.ids[second], seed, "held out")
    return Pairs(first, second, joined, weight, (place * FOLDS).astype(np.int64))


def _sampled_edges(factual: Factual, seed: int) -> Integers:
    """About `EDGES` of the edges, by a hash of their ids."""
    first, second = factual.ids[factual.edges]
    drawn = pair_uniform(first, second, seed, "fitted edges") * factual.edges.shape[1] < EDGES
    return np.ascontiguousarray(factual.edges[:, drawn])


def _sampled_non_edges(
    factual: Factual, wanted: int, seed: int
) -> tuple[Integers, Integers, Floats]:
    """About `wanted` non-edges with their weights, sampled by hashes of the ids.

    Everyone draws K others by a hash of their own id, with replacement, so a pair is drawn
    2K/(n − 1) times on average. A pair drawn c times has weight c(n − 1)/(2K), which makes
    weighted sums over the sample unbiased.
    """
    n, everyone = factual.n, np.arange(factual.n)
    draws = -(-wanted // n)
    partners = []
    for draw in range(draws):
        hashed = node_hash(factual.ids, seed, f"non-edges{draw}")
        other = (hashed % np.uint64(n - 1)).astype(np.int64)
        partners.append(other + (other >= everyone))
    drawn = factual.keys(np.tile(everyone, draws), np.concatenate(partners))
    keys, times = np.unique(drawn, return_counts=True)
    first, second, apart = factual.non_edges(keys)
    return first, second, times[apart].astype(np.float64) * ((n - 1) / (2 * draws))

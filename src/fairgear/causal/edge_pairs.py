"""The pairs that an edge model is fitted on: edges, and non-edges with weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgear.causal.edge_kernel import Floats, Integers
from fairgear.causal.edge_people import People
from fairgear.causal.noise import node_hash, pair_uniform

# Up to this many pairs, that is 2,000 people, all are taken.
ALL_PAIRS = 2_000_000
# Each fifth of the pairs is held out in turn.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of people with how many pairs of the graph each stands for.

    Attributes:
        first, second: places of the two people.
        joined: 1 for edges.
        weight: 1 for edges, the inverse of the sampling probability for non-edges.
        fold: 0 to 4, by a hash of the two ids.
    """

    first: Integers
    second: Integers
    joined: Integers
    weight: Floats
    fold: Integers

    def __len__(self) -> int:
        return len(self.first)


def pairs_of(people: People, seed: int, *, all_pairs: int = ALL_PAIRS) -> Pairs:
    """Every edge, and all non-edges of a small graph or a sample of a large one's."""
    if people.pairs <= all_pairs:
        first, second = (side.astype(np.int64) for side in np.triu_indices(people.count, 1))
        joined = people.joined(first, second).astype(np.int64)
        weight = np.ones(len(first))
    else:
        low, high, weights = drawn_non_edges(people, max(all_pairs, people.edges.shape[1]), seed)
        first = np.concatenate([people.edges[0], low])
        second = np.concatenate([people.edges[1], high])
        joined = np.repeat(np.array([1, 0]), [people.edges.shape[1], len(low)])
        weight = np.concatenate([np.ones(people.edges.shape[1]), weights])
    place = pair_uniform(people.ids[first], people.ids[second], seed, "held out")
    return Pairs(first, second, joined, weight, (place * FOLDS).astype(np.int64))


def drawn_non_edges(people: People, wanted: int, seed: int) -> tuple[Integers, Integers, Floats]:
    """About `wanted` pairs that are no edges, with their weights, drawn by the ids.

    Every person draws K others by a hash of their own id, with replacement, so that a pair is
    expected 2K/(n − 1) times. A pair drawn c times weighs c(n − 1)/(2K): sums over the sample
    are then right on average, for whatever is summed.
    """
    everyone = np.arange(people.count)
    draws = -(-wanted // people.count)
    partners = []
    for draw in range(draws):
        hashed = node_hash(people.ids, seed, f"non-edges{draw}")
        other = (hashed % np.uint64(people.count - 1)).astype(np.int64)
        partners.append(other + (other >= everyone))
    drawn = people.keys(np.tile(everyone, draws), np.concatenate(partners))
    keys, times = np.unique(drawn, return_counts=True)
    first, second = keys // people.count, keys % people.count
    apart = ~people.joined(first, second)
    weight = times[apart].astype(np.float64) * ((people.count - 1) / (2 * draws))
    return first[apart], second[apart], weight

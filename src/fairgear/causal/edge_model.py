"""The fitted edge model: the probability of every edge, and what becomes of it in another world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.edge_fit import Fit, PairRegression
from fairgear.causal.edge_kernel import Floats, Integers, likely_pairs
from fairgear.causal.edge_pairs import ALL_PAIRS, pairs_of
from fairgear.causal.edge_people import People
from fairgear.causal.edge_quality import EdgeQuality, held_out_quality
from fairgear.causal.edge_terms import EdgeTerms
from fairgear.causal.noise import node_hash, pair_uniform
from fairgear.compiled import in_chunks

# Changed people a thread takes at a time.
_CHUNK = 64
STREAM = "edges"


@dataclass(frozen=True, eq=False)
class World:
    """A counterfactual table and groups, in the order of the ids, beside the factual people."""

    people: People
    table: Floats
    sens: Integers

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Who was set to another group: only their pairs can change."""
        return np.asarray(self.people.sens != self.sens)


@dataclass(frozen=True, eq=False)
class EdgeModel:
    """logit p_ij as in `Coefficients`, and abduction on shared noise.

    One u_ij a pair, uniform, of the seed and the two ids, serves every world. With p → p' an
    edge stays where u_ij < p'/p, and a non-edge becomes one where u_ij < (p' − p)/(1 − p): if the
    factual graph follows p, the world follows p', and as few edges move as that allows.

    Likeness follows the moved features and groups the new attribute. Degrees stay factual: they
    stand for how many people somebody knows, of which nothing is known to depend on the
    attribute; degrees that followed the new edges would be both cause and effect of them.
    """

    terms: EdgeTerms
    fit: Fit

    @classmethod
    def fitted(
        cls, terms: EdgeTerms, people: People, *, seed: int, all_pairs: int = ALL_PAIRS
    ) -> tuple[EdgeModel, EdgeQuality]:
        """The model of a graph, and how well it foretells held-out pairs."""
        pairs = pairs_of(people, seed, all_pairs=all_pairs)
        regression = PairRegression(
            terms,
            pairs,
            terms.likeness(terms.prepared(people.table), pairs.first, pairs.second),
            people.activity(pairs.first, pairs.second, pairs.joined),
            people.sens[pairs.first] + people.sens[pairs.second],
        )
        theta = regression.fit()
        model = cls(terms, Fit(theta, regression.variance(theta)))
        return model, held_out_quality(regression, theta)

    def edges(self, world: World, seed: int) -> Integers:
        """The world's edges (2, m), every possible new one having been looked at."""
        first, second = self._likely(world, seed)
        return self.edges_among(world, first, second, seed)

    def edges_among(self, world: World, first: Integers, second: Integers, seed: int) -> Integers:
        """The world's edges, new ones only among the pairs given; a pair may be given twice."""
        people = world.people
        touched = world.changed[people.edges].any(axis=0)
        before = people.edges[:, touched]
        stays = self.survives(world, before[0], before[1], seed)
        keys = np.unique(people.keys(first, second))
        first, second = keys // people.count, keys % people.count
        apart = ~people.joined(first, second)
        first, second = first[apart], second[apart]
        appears = self.survives(world, first, second, seed)
        return np.concatenate(
            [people.edges[:, ~touched], before[:, stays], np.stack([first, second])[:, appears]],
            axis=1,
        )

    def survives(
        self, world: World, first: Integers, second: Integers, seed: int
    ) -> NDArray[np.bool_]:
        """Which of these pairs are edges in the world."""
        ids = world.people.ids
        noise = pair_uniform(ids[first], ids[second], seed, STREAM)
        return np.asarray(noise < self.probability(world, first, second))

    def probability(self, world: World, first: Integers, second: Integers) -> Floats:
        """That each pair is an edge in the world, given whether it is one in fact.

        p'/p or 1 for an edge; (p' − p)/(1 − p) or 0 for a non-edge, which in logits is
        p'·(1 − exp(logit p − logit p')), free of cancellation. Equal logits give 1 and 0.
        """
        joined = world.people.joined(first, second)
        factual = World(world.people, world.people.table, world.people.sens)
        old = self.logits(factual, first, second, joined)
        new = self.logits(world, first, second, joined)
        log_p_old, log_p_new = -np.logaddexp(0.0, -old), -np.logaddexp(0.0, -new)
        kept = np.exp(np.minimum(log_p_new - log_p_old, 0.0))
        added = np.exp(log_p_new) * -np.expm1(np.minimum(old - new, 0.0))
        return np.where(joined, np.where(new >= old, 1.0, kept), np.where(new > old, added, 0.0))

    def logits(
        self, world: World, first: Integers, second: Integers, joined: NDArray[np.bool_]
    ) -> Floats:
        """logit of the probability of each pair in a world, given the rest of the factual graph."""
        weights = self.terms.coefficients(self.fit.theta)
        alike = self.terms.likeness(self.terms.prepared(world.table), first, second)
        activity = world.people.activity(first, second, joined.astype(np.int64))
        groups = np.array(weights.groups)[world.sens[first] + world.sens[second]]
        result: Floats = (
            weights.intercept + weights.slope * alike + weights.degree * activity + groups
        )
        return result

    def _likely(self, world: World, seed: int) -> tuple[Integers, Integers]:
        """Every pair that can be a new edge, found by comparing the changed with everyone."""
        people, weights = world.people, self.terms.coefficients(self.fit.theta)
        # Those who stay first: each pair is then met once, in long runs of neighbours in memory.
        order = np.argsort(world.changed, kind="stable")
        settled = int((~world.changed).sum())
        ids = people.ids[order]
        sens = world.sens[order]
        columns = np.ascontiguousarray(self.terms.prepared(world.table)[:, order])
        own = weights.degree * np.log1p(people.degree[order])
        groups = np.array(weights.groups)
        lift = np.empty((2, 2, people.count))
        for group in (0, 1):
            lift[0, group] = weights.intercept + own
            lift[1, group] = own + groups[group + sens]
        keys, numbers = node_hash(ids, seed, STREAM), ids.astype(np.uint64)
        found: dict[int, tuple[Integers, Integers]] = {}

        def work(start: int, stop: int) -> None:
            found[start] = likely_pairs(
                columns,
                self.terms.scale,
                self.terms.cosine,
                weights.slope,
                lift,
                sens,
                numbers,
                keys,
                settled,
                start,
                stop,
            )

        in_chunks(work, people.count - settled, _CHUNK, "looking for new edges")
        sides = [np.concatenate([found[at][side] for at in sorted(found)]) for side in (0, 1)]
        return order[sides[0]], order[sides[1]]

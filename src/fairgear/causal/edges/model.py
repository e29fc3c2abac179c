"""The fitted edge model: the probability of every edge, and what becomes of it in another world."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.edges.kernel import Floats, Integers, likely_pairs
from fairgear.causal.edges.pairs import ALL_PAIRS, Factual, pairs_of
from fairgear.causal.edges.regression import EdgeQuality, PairRegression, cross_validated
from fairgear.causal.edges.terms import EdgeTerms
from fairgear.compiled import in_chunks
from fairgear.hashing import node_hash, pair_uniform

# Changed people that a thread takes at a time.
_CHUNK = 64
NORMAL_95 = 1.959963984540054
STREAM = "edges"


@dataclass(frozen=True, eq=False)
class World:
    """A counterfactual table and groups, sorted by id, beside the factual graph."""

    factual: Factual
    table: Floats
    sens: NDArray[Any]

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Who is in another group: only their pairs can change."""
        return np.asarray(self.factual.sens != self.sens)

    def prepared(self, terms: EdgeTerms) -> Floats:
        """The table as the terms of an edge model take it; kept for the last of them."""
        held = self._prepared.get(id(terms))
        if held is None:
            self._prepared.clear()
            held = self._prepared[id(terms)] = (terms, terms.prepared(self.table))
        return held[1]

    @cached_property
    def before(self) -> World:
        """The world as it is."""
        return World(self.factual, self.factual.table, self.factual.sens)

    @cached_property
    def _prepared(self) -> dict[int, tuple[EdgeTerms, Floats]]:
        return {}


@dataclass(frozen=True, eq=False)
class EdgeModel:
    """logit p_ij as in `Coefficients`, and counterfactual edges by abduction.

    Every world shares one uniform u_ij per pair, a hash of the seed and the two ids. Where p
    becomes p', an edge stays if u_ij < p'/p, and a non-edge becomes an edge if
    u_ij < (p' − p)/(1 − p). If the factual graph follows p, the world then follows p', and as few
    edges change as that allows.

    Likeness follows the moved features, groups the new attribute. Degrees stay factual: they
    stand for how many people somebody knows, which is not known to depend on the attribute, and
    new degrees would be both cause and effect of the new edges.
    """

    terms: EdgeTerms
    theta: Floats
    variance: Floats
    """Of `theta`; NaN for parameters that no pair informs."""

    @classmethod
    def fitted(
        cls, terms: EdgeTerms, factual: Factual, *, seed: int, all_pairs: int = ALL_PAIRS
    ) -> tuple[EdgeModel, EdgeQuality]:
        """The model of a graph, and how well it predicts held-out pairs."""
        pairs = pairs_of(factual, seed, all_pairs=all_pairs)
        regression = PairRegression(terms, factual, pairs)
        theta = regression.fit()
        model = cls(terms, theta, regression.variance(theta))
        return model, cross_validated(regression, theta)

    def intervals(self) -> Floats:
        """(parameters, 2): 95 % intervals by the normal distribution."""
        wide = NORMAL_95 * np.sqrt(self.variance)
        return np.column_stack([self.theta - wide, self.theta + wide])

    def edges_among(self, world: World, first: Integers, second: Integers, seed: int) -> Integers:
        """The edges of a world, new ones only among the given pairs; pairs may repeat."""
        factual = world.factual
        touched = world.changed[factual.edges].any(axis=0)
        before = factual.edges[:, touched]
        stays = self.survives(world, before[0], before[1], seed)
        first, second, _ = factual.non_edges(np.unique(factual.keys(first, second)))
        appears = self.survives(world, first, second, seed)
        return np.concatenate(
            [factual.edges[:, ~touched], before[:, stays], np.stack([first, second])[:, appears]],
            axis=1,
        )

    def survives(
        self, world: World, first: Integers, second: Integers, seed: int
    ) -> NDArray[np.bool_]:
        """Which of these pairs are edges in the world."""
        ids = world.factual.ids
        noise = pair_uniform(ids[first], ids[second], seed, STREAM)
        return np.asarray(noise < self.probability(world, first, second))

    def probability(self, world: World, first: Integers, second: Integers) -> Floats:
        """That each pair is an edge in the world, given whether it is a factual one.

        p'/p or 1 for an edge; (p' − p)/(1 − p) or 0 for a non-edge. In logits the latter is
        p'·(1 − exp(logit p − logit p')), free of cancellation. Equal logits give 1 and 0.
        """
        joined = world.factual.joined(first, second)
        old = self.logits(world.before, first, second, joined)
        return self.chance(old, self.logits(world, first, second, joined), joined)

    @staticmethod
    def chance(old: Floats, new: Floats, joined: NDArray[np.bool_]) -> Floats:
        """`probability`, from the logits of the pairs in the factual world and in another."""
        log_p_old, log_p_new = -np.logaddexp(0.0, -old), -np.logaddexp(0.0, -new)
        kept = np.exp(np.minimum(log_p_new - log_p_old, 0.0))
        added = np.exp(log_p_new) * -np.expm1(np.minimum(old - new, 0.0))
        return np.where(joined, np.where(new >= old, 1.0, kept), np.where(new > old, added, 0.0))

    def logits(
        self, world: World, first: Integers, second: Integers, joined: NDArray[np.bool_]
    ) -> Floats:
        """The logit of each pair in a world, given the rest of the factual graph."""
        alike = self.terms.likeness(world.prepared(self.terms), first, second)
        between = self.terms.between(world.sens[first], world.sens[second])
        return self.logits_of(world.factual, alike, between, first, second, joined)

    def logits_of(
        self,
        factual: Factual,
        alike: Floats,
        between: NDArray[Any],
        first: Integers,
        second: Integers,
        joined: NDArray[np.bool_],
    ) -> Floats:
        """`logits`, from the likeness of each pair and what `EdgeTerms.between` gives."""
        weights = self.terms.coefficients(self.theta)
        activity = factual.activity(first, second, joined.astype(np.int64))
        level = weights.level(between)
        result: Floats = (
            weights.intercept + weights.slope * alike + weights.degree * activity + level
        )
        return result

    def edges(self, world: World, seed: int) -> Integers:
        """The edges (2, m) of a world, by comparing changed people with everyone."""
        factual, weights = world.factual, self.terms.coefficients(self.theta)
        # Unchanged people first: each pair is then met once, in long contiguous runs.
        order = np.argsort(world.changed, kind="stable")
        settled = int((~world.changed).sum())
        ids, sens = factual.ids[order], world.sens[order]
        columns = np.ascontiguousarray(world.prepared(self.terms)[:, order])
        own = weights.degree * np.log1p(factual.degree[order])
        lift, places = self.terms.lift(self.theta, own, sens, sens[settled:])
        scale, cosine, slope = self.terms.scale, self.terms.cosine, weights.slope
        keys, numbers = node_hash(ids, seed, STREAM), ids.astype(np.uint64)
        found: dict[int, tuple[Integers, Integers]] = {}

        def work(start: int, stop: int) -> None:
            found[start] = likely_pairs(
                columns, scale, cosine, slope, lift, places, numbers, keys, settled, start, stop
            )

        in_chunks(work, factual.n - settled, _CHUNK, "looking for new edges")
        first, second = (
            order[np.concatenate([found[at][side] for at in sorted(found)])] for side in (0, 1)
        )
        return self.edges_among(world, first, second, seed)

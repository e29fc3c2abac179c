"""A law of weights: log w = η + τ·ε, with the ε of a factual edge kept in every world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairgear.causal.edges.dyads import Arcs, linear
from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.model import World
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.terms import DistanceTerms
from fairgear.hashing import pair_uniform

_STREAMS = ("weights", "weights back")


@dataclass(frozen=True, eq=False)
class WeightModel:
    """η is linear in the regressors of the edge itself: likeness, degrees and groups.

    An edge that stays has log w' = log w + η' − η: what the model leaves unsaid about it is kept,
    so that nothing changes where η does not. The ε of a new edge is a standard normal number, a
    hash of the seed and the ids of its ends.
    """

    terms: DistanceTerms
    theta: Floats
    spread: float
    """τ, the standard deviation of what is left of log w."""
    explained: float
    """R² of log w, in the factual graph."""

    @classmethod
    def fitted(cls, people: Factual | Arcs, skip: int | None, weight: Floats) -> WeightModel:
        """From the weights of the factual edges, or arcs, in their order."""
        factual = people.factual if isinstance(people, Arcs) else people
        terms = DistanceTerms.of(factual.table, skip, factual.groups, factual.code)
        bare = cls(terms, np.empty(0), 0.0, 0.0)
        ends = people.arcs if isinstance(people, Arcs) else people.edges
        design = bare.design(World(factual, factual.table, factual.sens), people, ends)
        target = np.log(weight)
        theta = np.asarray(np.linalg.lstsq(design, target, rcond=None)[0], dtype=np.float64)
        left = target - linear(design, theta)
        spread = float(np.sqrt(left @ left / max(1, len(left) - len(theta))))
        total = float(((target - target.mean()) ** 2).sum())
        explained = 1 - float(left @ left) / total if total > 0 else 0.0
        return cls(bare.terms, theta, spread, explained)

    def design(self, world: World, people: Factual | Arcs, ends: Integers) -> Floats:
        """The regressors of some edges in a world."""
        first, second = ends
        alike = self.terms.likeness(self.terms.prepared(world.table), first, second)
        if isinstance(people, Arcs):
            return people.design(self.terms, alike, world.sens, first, second)
        joined = people.joined(first, second).astype(np.int64)
        between = self.terms.between(world.sens[first], world.sens[second])
        return self.terms.design(alike, people.activity(first, second, joined), between)

    def changed(self, world: World, people: Factual | Arcs, ends: Integers, old: Floats) -> Floats:
        """The weights of edges that stay, from their factual ones."""
        factual = World(world.factual, world.factual.table, world.factual.sens)
        before, after = (linear(self.design(w, people, ends), self.theta) for w in (factual, world))
        # Exactly the old ones where nothing moves: e⁰ = 1.
        return np.asarray(old * np.exp(after - before))

    def new(self, world: World, people: Factual | Arcs, ends: Integers, seed: int) -> Floats:
        """The weights of new edges."""
        ids = world.factual.ids
        first, second = ids[ends[0]], ids[ends[1]]
        forth, back = (pair_uniform(first, second, seed, stream) for stream in _STREAMS)
        directed = isinstance(people, Arcs)
        noise = np.where(directed & (first > second), back, forth)
        # Half a step up: 0 would have an infinite quantile.
        normal = ndtri(noise + 2.0**-54)
        eta = linear(self.design(world, people, ends), self.theta)
        return np.asarray(np.exp(eta + self.spread * normal))

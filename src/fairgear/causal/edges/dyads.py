"""A law of arcs: both directions of a pair at once, so that arcs may be returned.

A dyad, two people i and j, is in one of four states: no arc, one of the two, or both. Its chance is
proportional to exp(a·l_ij + b·l_ji + ab·ρ), where a and b say which arcs are there, ρ is the
reciprocity and

    l_ij = intercept + γ·likeness + c_out·h_i + c_in·h_j + G[s_i, s_j]

h_i = log(1 + people other than j to whom i points), h_j = log(1 + people other than i who point to
j); G[0, 0] = 0 and G need not be symmetric. Of more than five groups, one level for pairs of the
same group stands for G; of a number, its difference and both numbers do.

Every world shares one uniform number a dyad, a hash of the seed and the two ids. Where the chances
become others, a dyad stays as it is with the chance min(1, P'/P) of its own state, and else takes
one of the states that gained, in proportion to their gains. If the graph follows P, the world then
follows P', and as few dyads change as that allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.model import STREAM, World
from fairgear.causal.edges.pairs import ALL_PAIRS, Factual, Pairs, pairs_of
from fairgear.causal.edges.regression import (
    PENALTY,
    EdgeQuality,
    Rows,
    cross_validated,
    maximised,
    sandwich,
)
from fairgear.causal.edges.terms import DistanceTerms
from fairgear.graph import SensitiveGraph
from fairgear.hashing import pair_uniform

# Dyads in memory at a time.
_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Arcs:
    """The arcs of a graph between people sorted by id.

    Attributes:
        factual: the people; its edges are the pairs with an arc.
        arcs: (2, m), sorted.
    """

    factual: Factual
    arcs: Integers

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Arcs:
        """From a directed graph."""
        arcs, factual = graph.canonical.edge_index.numpy(), Factual.of(graph)
        pairs = np.unique(np.sort(arcs, axis=0), axis=1)
        return cls(replace(factual, edges=np.ascontiguousarray(pairs)), arcs)

    @cached_property
    def _keys(self) -> Integers:
        return np.asarray(self.arcs[0] * self.factual.n + self.arcs[1])

    @cached_property
    def _counts(self) -> tuple[Integers, Integers]:
        n = self.factual.n
        return np.bincount(self.arcs[0], minlength=n), np.bincount(self.arcs[1], minlength=n)

    @cached_property
    def _logs(self) -> Floats:
        # One logarithm per count: equal counts give equal bits wherever they stand.
        most = max(int(count.max(initial=0)) for count in self._counts)
        return np.log1p(np.arange(most + 1, dtype=np.float64))

    def present(self, source: Integers, target: Integers) -> Integers:
        """1 for arcs, 0 for others."""
        wanted = source * self.factual.n + target
        if not len(self._keys):
            return np.zeros(len(wanted), dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.asarray(self._keys[at] == wanted, dtype=np.int64)

    def design(
        self,
        terms: DistanceTerms,
        alike: Floats,
        sens: NDArray[Any],
        source: Integers,
        target: Integers,
    ) -> Floats:
        """The regressors of l for some arcs, in the order of `parameters_of`."""
        there = self.present(source, target)
        outgoing, incoming = self._counts
        return np.column_stack(
            [
                np.ones(len(source)),
                alike,
                self._logs[outgoing[source] - there],
                self._logs[incoming[target] - there],
                *terms.between_ends(sens[source], sens[target]),
            ]
        )


def parameters_of(terms: DistanceTerms) -> tuple[str, ...]:
    """The names of θ."""
    first = ("intercept", "likeness", "degree out", "degree in")
    return (*first, *terms.arc_levels, "reciprocity")


def linear(design: Floats, theta: Floats) -> Floats:
    """design · θ, column by column: a matrix product may round a row by its place."""
    total = np.zeros(len(design))
    for column, weight in zip(design.T, theta.tolist(), strict=False):
        total += weight * column
    return total


def chances(up: Floats, down: Floats, reciprocity: float) -> Floats:
    """(4, m): the chances of no arc, of i → j alone, of j → i alone, and of both."""
    states = np.stack([np.zeros_like(up), up, down, up + down + reciprocity])
    states = np.exp(states - states.max(axis=0))
    found: Floats = states / states.sum(axis=0)
    return found


class DyadRegression:
    """The likelihood of the dyads of a graph; as `PairRegression`, whose entries are arcs here.

    Entry 2d is the arc of dyad d from its first person to its second, entry 2d + 1 the other.
    """

    def __init__(self, terms: DistanceTerms, arcs: Arcs, dyads: Pairs) -> None:
        self._names = parameters_of(terms)
        self._dyads = dyads
        first, second = dyads.first, dyads.second
        factual = arcs.factual
        alike = terms.likeness(terms.prepared(factual.table), first, second)
        self._up = arcs.design(terms, alike, factual.sens, first, second)
        self._down = arcs.design(terms, alike, factual.sens, second, first)
        self._a, self._b = arcs.present(first, second), arcs.present(second, first)
        self.pairs = Pairs(
            _woven(first, second),
            _woven(second, first),
            _woven(self._a, self._b),
            np.repeat(dyads.weight, 2),
            np.repeat(dyads.fold, 2),
        )
        spread = np.concatenate([self._up, self._down]).var(axis=0)
        self._varies = np.append(spread > 1e-12, True)
        self._varies[0] = True
        self._penalty = PENALTY * np.append(np.where(spread > 1e-12, spread, 1.0), 1.0)
        self._penalty[0] = 0.0

    def fit(self, rows: Rows | None = None, *, start: Floats | None = None) -> Floats:
        """θ by Newton's method, on all dyads or on those of the entries `rows`."""
        if start is None:
            share = np.average(self.pairs.joined, weights=self.pairs.weight)
            start = np.zeros(len(self._names))
            start[0] = np.log(share / (1 - share))
        chosen = np.ones(len(self._a), np.bool_) if rows is None else rows[::2]
        return maximised(lambda theta: self._likelihood(theta, chosen), start)

    def logits(self, theta: Floats, rows: Rows | None = None, *, degree: bool = True) -> Floats:
        """The logit of every arc of `rows`, whatever its twin; with or without degrees."""
        if not degree:
            named = [name.startswith("degree") for name in self._names]
            theta = np.where(named, 0.0, theta)
        p = chances(linear(self._up, theta), linear(self._down, theta), float(theta[-1]))
        there = _woven(p[1] + p[3], p[2] + p[3])
        away = _woven(p[0] + p[2], p[0] + p[1])
        found = np.log(np.maximum(there, 1e-300)) - np.log(np.maximum(away, 1e-300))
        return np.asarray(found if rows is None else found[rows])

    def variance(self, theta: Floats) -> Floats:
        """Of θ, by the sandwich of `PairRegression.variance`, with dyads for pairs."""
        chosen = np.ones(len(self._a), np.bool_)
        curvature = self._likelihood(theta, chosen)[2]
        p = chances(linear(self._up, theta), linear(self._down, theta), float(theta[-1]))
        w = self._dyads.weight
        score = self._up * (w * (self._a - p[1] - p[3]))[:, None]
        score += self._down * (w * (self._b - p[2] - p[3]))[:, None]
        score = np.column_stack([score, w * (self._a * self._b - p[3])])
        found = sandwich(score, self._dyads.first, self._dyads.second, curvature)
        return np.where(self._varies, found, np.nan)

    def _likelihood(self, theta: Floats, chosen: Rows) -> tuple[float, Floats, Floats]:
        value = -0.5 * float(self._penalty @ theta**2)
        gradient, curvature = -self._penalty * theta, np.diag(self._penalty)
        places = np.flatnonzero(chosen)
        for begin in range(0, len(places), _BLOCK):
            at = places[begin : begin + _BLOCK]
            more = self._block(theta, at)
            value, gradient, curvature = value + more[0], gradient + more[1], curvature + more[2]
        return value, gradient, curvature

    def _block(self, theta: Floats, at: Integers) -> tuple[float, Floats, Floats]:
        """Value, gradient and curvature of some dyads."""
        zu, zd, w = self._up[at], self._down[at], self._dyads.weight[at]
        a, b = self._a[at], self._b[at]
        p = chances(zu @ theta[:-1], zd @ theta[:-1], float(theta[-1]))
        up, down, both = p[1] + p[3], p[2] + p[3], p[3]
        value = float(w @ np.log(np.maximum(p[a + 2 * b, np.arange(len(at))], 1e-300)))
        slope = zu.T @ (w * (a - up)) + zd.T @ (w * (b - down))
        gradient = np.append(slope, w @ (a * b - both))
        inner = (zu * (w * up * (1 - up))[:, None]).T @ zu
        inner += (zd * (w * down * (1 - down))[:, None]).T @ zd
        cross = (zu * (w * (both - up * down))[:, None]).T @ zd
        edge = zu.T @ (w * both * (1 - up)) + zd.T @ (w * both * (1 - down))
        corner = float(w @ (both * (1 - both)))
        curvature = np.block(
            [[inner + cross + cross.T, edge[:, None]], [edge[None], np.array([[corner]])]]
        )
        return value, gradient, curvature


@dataclass(frozen=True, eq=False)
class DyadModel:
    """The fitted chances of every dyad, and what becomes of it in another world."""

    terms: DistanceTerms
    theta: Floats
    variance: Floats

    @classmethod
    def fitted(
        cls, arcs: Arcs, skip: int | None, *, seed: int, all_pairs: int = ALL_PAIRS
    ) -> tuple[DyadModel, EdgeQuality]:
        """The model of a graph, and how well it predicts the arcs of held-out dyads."""
        factual = arcs.factual
        terms = DistanceTerms.of(factual.table, skip, factual.groups, factual.code)
        dyads = pairs_of(factual, seed, all_pairs=all_pairs)
        regression = DyadRegression(terms, arcs, dyads)
        theta = regression.fit()
        model = cls(terms, theta, regression.variance(theta))
        return model, cross_validated(regression, theta)

    def arcs(self, world: World, arcs: Arcs, seed: int) -> Integers:
        """The arcs (2, m) of a world, unsorted; dyads of unchanged people stay."""
        kept = arcs.arcs[:, ~world.changed[arcs.arcs].any(axis=0)]
        found = [kept]
        for low, high in _changing(world):
            state = self.states(world, arcs, low, high, seed)
            up, down = (state % 2) == 1, state >= 2
            found += [np.stack([low[up], high[up]]), np.stack([high[down], low[down]])]
        return np.concatenate(found, axis=1)

    def states(
        self, world: World, arcs: Arcs, low: Integers, high: Integers, seed: int
    ) -> Integers:
        """0, 1 (low → high), 2 (high → low) or 3 (both) for each dyad of a world."""
        factual = arcs.factual
        before = World(factual, factual.table, factual.sens)
        old, new = (self.chances(one, arcs, low, high) for one in (before, world))
        state = arcs.present(low, high) + 2 * arcs.present(high, low)
        noise = pair_uniform(factual.ids[low], factual.ids[high], seed, STREAM)
        return moved_states(state, old, new, noise)

    def chances(self, world: World, arcs: Arcs, low: Integers, high: Integers) -> Floats:
        """(4, m), of the states of some dyads in a world."""
        alike = self.terms.likeness(self.terms.prepared(world.table), low, high)
        up = linear(arcs.design(self.terms, alike, world.sens, low, high), self.theta)
        down = linear(arcs.design(self.terms, alike, world.sens, high, low), self.theta)
        return chances(up, down, float(self.theta[-1]))


def moved_states(state: Integers, old: Floats, new: Floats, noise: Floats) -> Integers:
    """The states of dyads whose chances (4, m) become others, by one uniform number each."""
    own, then = (np.take_along_axis(p, state[None], axis=0)[0] for p in (old, new))
    stay = np.minimum(then / np.maximum(own, 1e-300), 1.0)
    stay = np.where(then >= own, 1.0, stay)
    gains = np.cumsum(np.maximum(new - old, 0.0), axis=0)
    left = np.where(stay < 1, (noise - stay) / np.maximum(1 - stay, 1e-300), 0.0)
    # The last state that gained, where rounding would go beyond it.
    gained = np.maximum(new - old, 0.0) > 0
    last = 3 - np.argmax(gained[::-1], axis=0)
    place = np.minimum((gains <= left * gains[-1]).sum(axis=0), last)
    return np.where(noise < stay, state, place)


def _changing(world: World) -> list[tuple[Integers, Integers]]:
    """The dyads with somebody who changes, in blocks, the lower number first."""
    n, changed = world.factual.n, world.changed
    rows, everyone = np.flatnonzero(changed), np.arange(n)
    size = max(1, _BLOCK // n)
    blocks = []
    for begin in range(0, len(rows), size):
        part = rows[begin : begin + size]
        one, two = np.repeat(part, n), np.tile(everyone, len(part))
        once = (one < two) | ((one > two) & ~changed[two])
        one, two = one[once], two[once]
        blocks.append((np.minimum(one, two), np.maximum(one, two)))
    return blocks


def _woven(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """The entries of two arrays in turn."""
    return np.stack([one, other], axis=1).ravel()

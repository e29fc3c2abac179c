"""The counterfactual graphs of an evaluation: made once, shared by all models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property, partial

from torch import Tensor

from fairgear.auditing.alternatives import Alternative, alternatives, attribute_alternative
from fairgear.auditing.world import World
from fairgear.causal import (
    RATES,
    CausalModel,
    Diagnostics,
    at_random,
    at_rate,
    flipped,
    for_graph,
    released_world,
)
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.seeds import check_seed


class Worlds:
    """The worlds of one graph under one causal model; each is made when first asked for.

    Args:
        graph: the factual graph.
        causal_model: answers for it; looked up by `fairgear.causal.for_graph` if not given. Where
            there are not two groups to compare, it is None and `why_none` says so.
        draws: draws of each intervention that has a choice: rate 0.5 and random.
        seed: of the draws, and of the causal model's noise.
        released_share: how much of a feature's change the softened worlds keep; as the authors'
            files do if not given.
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        causal_model: CausalModel | None = None,
        *,
        draws: int = 3,
        seed: int = 0,
        released_share: float | None = None,
    ) -> None:
        if draws < 1:
            raise ParameterError("draws", draws, "at least 1", "use 3 for a report")
        if released_share is not None and not 0 <= released_share <= 1:
            raise ParameterError(
                "released_share",
                released_share,
                "0 to 1",
                "leave it out to do as the authors' files do",
            )
        self.graph = graph
        self.draws = draws
        self.seed = check_seed("seed of the worlds", seed)
        self.released_share = released_share
        self.causal_model = causal_model
        self.why_none = ""
        if causal_model is None:
            groups = sorted(set(graph.sens.tolist()))
            if len(groups) < 2:
                self.why_none = f"everybody is in group {groups[0]}."
            else:
                self.causal_model = for_graph(graph)

    @cached_property
    def factual(self) -> World:
        """The graph as it is."""
        return World("factual", "unchanged", 0, self.graph.sens, lambda: self.graph)

    @cached_property
    def edgeless(self) -> World:
        """The graph as it is, with every edge taken away: does a model look at them?"""
        nothing = self.graph.edge_index[:, :0]
        return World("edgeless", "unchanged", 0, self.graph.sens, lambda: self._with_edges(nothing))

    @cached_property
    def assignments(self) -> dict[float, list[Tensor]]:
        """Whole-graph values of s by rate; at 0 and 1 there is nothing to draw."""
        return {
            rate: [
                at_rate(self.graph, rate, draw=draw, seed=self.seed)
                for draw in range(1 if rate in (0, 1) else self.draws)
            ]
            for rate in RATES
        }

    @cached_property
    def strict(self) -> dict[float, list[World]]:
        """Features, edges and labels as the causal model has them, by rate."""
        return {
            rate: [
                World("strict", f"rate {rate:g}", draw, sens, partial(self._counterfactual, sens))
                for draw, sens in enumerate(values)
            ]
            for rate, values in self.assignments.items()
        }

    @cached_property
    def released(self) -> dict[float, list[World]]:
        """The softened worlds at the same assignments, by rate; their edges are factual."""
        return {
            rate: [
                World("released", f"rate {rate:g}", draw, sens, partial(self._softened, sens))
                for draw, sens in enumerate(values)
            ]
            for rate, values in self.assignments.items()
        }

    @cached_property
    def random(self) -> list[World]:
        """Everyone's s drawn anew: *neighbours* for whom it left as they were, else *both*."""
        drawn = [at_random(self.graph, draw=draw, seed=self.seed) for draw in range(self.draws)]
        return [
            World("strict", "random", draw, sens, partial(self._counterfactual, sens))
            for draw, sens in enumerate(drawn)
        ]

    @cached_property
    def placebo(self) -> World:
        """The softening alone, with nobody's s changed."""
        sens = self.graph.sens
        return World("placebo", "unchanged", 0, sens, partial(self._softened, sens))

    @cached_property
    def alternatives(self) -> list[Alternative]:
        """Other causal models, at the assignments of `strict`."""
        return alternatives(self.graph, self.known_model(), self.strict, seed=self.seed)

    @cached_property
    def attribute_only(self) -> Alternative:
        """The worlds in which nothing follows from the attribute; they need no causal model."""
        return attribute_alternative(self.graph, self.strict)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """The causal model's account of itself, on worlds that are there anyway."""
        worlds = {rate: draws[0].graph for rate, draws in self.strict.items()}
        return self.known_model().diagnostics(self.graph, seed=self.seed, worlds=worlds)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that settles the worlds: two audits can be paired where it is the same."""
        causal = None if self.causal_model is None else self.causal_model.fingerprint()
        facts = [self.graph.fingerprint(), causal, self.draws, self.seed, self.released_share]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def alone(self, nodes: Tensor) -> Iterator[World]:
        """For each of `nodes` the world in which only that person's s is flipped; none is kept."""
        for node in nodes.tolist():
            sens = flipped(self.graph, node)
            name = f"self {int(self.graph.node_id[node])}"
            yield World("strict", name, 0, sens, partial(self._counterfactual, sens))

    def _with_edges(self, edge_index: Tensor) -> SensitiveGraph:
        return self.graph.replace(edge_index=edge_index, mechanism=None)

    def _counterfactual(self, sens: Tensor) -> SensitiveGraph:
        return self.known_model().counterfactual(self.graph, sens, seed=self.seed)

    def _softened(self, sens: Tensor) -> SensitiveGraph:
        return released_world(
            self.known_model(), self.graph, sens, share=self.released_share, seed=self.seed
        )

    def known_model(self) -> CausalModel:
        """The causal model; an error where there is none."""
        if self.causal_model is None:
            raise GraphError(
                "counterfactual worlds",
                "a graph without a causal model",
                "a graph that carries its structural equations, or a causal_model",
                "pass causal_model",
            )
        return self.causal_model

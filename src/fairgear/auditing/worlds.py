"""The counterfactual graphs of an evaluation: made once, shared by all models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from fairgear.causal import (
    RATES,
    CausalModel,
    at_random,
    at_rate,
    flipped,
    for_graph,
    released_world,
)
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph


@dataclass(frozen=True)
class World:
    """One counterfactual graph, and the question that it answers.

    Attributes:
        protocol: "strict", "released" or "placebo".
        intervention: "rate 0", "rate 0.5", "rate 1", "random" or "unchanged".
        draw: number of the draw.
        graph: with the same nodes, in the same order, as the factual graph.
    """

    protocol: str
    intervention: str
    draw: int
    graph: SensitiveGraph


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
            raise ParameterError(
                "draws", got=draws, allowed="at least 1", next_step="use 3 for a report"
            )
        if released_share is not None and not 0 <= released_share <= 1:
            raise ParameterError(
                "released_share",
                got=released_share,
                allowed="0 to 1",
                next_step="leave it out to do as the authors' files do",
            )
        self.graph = graph
        self.draws = draws
        self.seed = seed
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
                World("strict", f"rate {rate:g}", draw, self._counterfactual(sens))
                for draw, sens in enumerate(values)
            ]
            for rate, values in self.assignments.items()
        }

    @cached_property
    def released(self) -> dict[float, list[World]]:
        """The softened worlds at the same assignments, by rate; their edges are factual."""
        return {
            rate: [
                World("released", f"rate {rate:g}", draw, self._softened(sens))
                for draw, sens in enumerate(values)
            ]
            for rate, values in self.assignments.items()
        }

    @cached_property
    def random(self) -> list[World]:
        """Everyone's s drawn anew: *neighbours* for whom it left as they were, else *both*."""
        return [
            World(
                "strict",
                "random",
                draw,
                self._counterfactual(at_random(self.graph, draw=draw, seed=self.seed)),
            )
            for draw in range(self.draws)
        ]

    @cached_property
    def placebo(self) -> World:
        """The softening alone, with nobody's s changed."""
        return World("placebo", "unchanged", 0, self._softened(self.graph.sens))

    def alone(self, nodes: Tensor) -> Iterator[SensitiveGraph]:
        """For each of `nodes` the world in which only that person's s is flipped; none is kept."""
        for node in nodes.tolist():
            yield self._counterfactual(flipped(self.graph, node))

    def _counterfactual(self, sens: Tensor) -> SensitiveGraph:
        return self._known().counterfactual(self.graph, sens, seed=self.seed)

    def _softened(self, sens: Tensor) -> SensitiveGraph:
        return released_world(
            self._known(), self.graph, sens, share=self.released_share, seed=self.seed
        )

    def _known(self) -> CausalModel:
        if self.causal_model is None:
            raise GraphError(
                "counterfactual worlds",
                got="a graph without a causal model",
                allowed="a graph that carries its structural equations, or a causal_model",
                next_step="pass causal_model",
            )
        return self.causal_model

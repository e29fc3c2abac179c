"""Causal models: what a graph would be, had its sensitive attribute been another."""

from fairgear.causal.base import CausalModel
from fairgear.causal.interventions import RATES, at_random, at_rate, flipped, released_world
from fairgear.causal.synthetic import (
    SyntheticCausalModel,
    SyntheticMechanism,
    SyntheticSettings,
    sample,
)
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph

__all__ = [
    "RATES",
    "CausalModel",
    "SyntheticCausalModel",
    "SyntheticMechanism",
    "SyntheticSettings",
    "at_random",
    "at_rate",
    "flipped",
    "for_graph",
    "released_world",
    "sample",
]


def for_graph(graph: SensitiveGraph) -> CausalModel:
    """The causal model of `graph`: exact, from the equations that the graph carries."""
    if isinstance(graph.mechanism, SyntheticMechanism):
        return SyntheticCausalModel(graph)
    raise GraphError(
        f"a causal model for {graph.name!r}",
        got="a graph that carries no structural equations",
        allowed="a graph sampled from the synthetic model",
        next_step="load one with fairgear.datasets.load('synthetic')",
    )

"""Which causal model answers for a graph: the exact one, else its rule, else a fitted one."""

from __future__ import annotations

from fairgear.causal.base import CausalModel
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.synthetic import SyntheticCausalModel, SyntheticMechanism
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, SimilarityMechanism


def for_graph(graph: SensitiveGraph) -> CausalModel:
    """The causal model of `graph`, fitted: by the equations that the graph carries, if any."""
    if isinstance(graph.mechanism, SyntheticMechanism):
        return SyntheticCausalModel().fit(graph)
    if isinstance(graph.mechanism, SimilarityMechanism):
        return SimilarityCausalModel().fit(graph)
    raise GraphError(
        f"a causal model for {graph.name!r}",
        got="a graph that carries no structural equations",
        allowed="a graph sampled from the synthetic model",
        next_step="load one with fairgear.datasets.load('synthetic')",
    )

"""Which causal model answers for a graph: the exact one, else its rule, else a fitted one."""

from __future__ import annotations

from fairgear.causal.base import CausalModel
from fairgear.causal.fitted import FittedCausalModel
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.synthetic import SyntheticCausalModel, SyntheticMechanism
from fairgear.graph import SensitiveGraph, SimilarityMechanism


def for_graph(graph: SensitiveGraph) -> CausalModel:
    """The causal model of `graph`, fitted: by the equations that the graph carries, if any."""
    if isinstance(graph.mechanism, SyntheticMechanism):
        return SyntheticCausalModel().fit(graph)
    if isinstance(graph.mechanism, SimilarityMechanism):
        return SimilarityCausalModel().fit(graph)
    return FittedCausalModel().fit(graph)

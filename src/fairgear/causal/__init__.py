"""Causal models: what a graph would be, had its sensitive attribute been another."""

from fairgear.causal.base import CAUSAL_MODELS, CausalModel, as_assignment
from fairgear.causal.diagnostics import Diagnostics, Effect, edge_changes
from fairgear.causal.fitted import FittedCausalModel
from fairgear.causal.interventions import RATES, at_random, at_rate, flipped, released_world
from fairgear.causal.noise import node_uniform, pair_uniform
from fairgear.causal.selection import for_graph, named
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.synthetic import (
    SyntheticCausalModel,
    SyntheticMechanism,
    SyntheticSettings,
    sample,
)

__all__ = [
    "CAUSAL_MODELS",
    "RATES",
    "CausalModel",
    "Diagnostics",
    "Effect",
    "FittedCausalModel",
    "SimilarityCausalModel",
    "SyntheticCausalModel",
    "SyntheticMechanism",
    "SyntheticSettings",
    "as_assignment",
    "at_random",
    "at_rate",
    "edge_changes",
    "flipped",
    "for_graph",
    "named",
    "node_uniform",
    "pair_uniform",
    "released_world",
    "sample",
]

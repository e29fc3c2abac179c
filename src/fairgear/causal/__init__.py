"""Causal models: what a graph would be, had its sensitive attribute been another."""

from fairgear.causal.base import CAUSAL_MODELS, CausalModel
from fairgear.causal.diagnostics import Diagnostics, Effect, edge_changes
from fairgear.causal.features import FEATURE_MODELS
from fairgear.causal.fitted import FittedCausalModel
from fairgear.causal.interventions import (
    RATES,
    as_assignment,
    at_random,
    at_rate,
    attribute_only,
    features_only,
    flipped,
    released_world,
    structure_only,
    structure_with,
)
from fairgear.causal.local import LocalWorld
from fairgear.causal.selection import for_graph, named
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.surroundings import Surroundings
from fairgear.causal.synthetic import (
    SyntheticCausalModel,
    SyntheticMechanism,
    SyntheticSettings,
    sample,
)
from fairgear.hashing import node_uniform, pair_uniform

__all__ = [
    "CAUSAL_MODELS",
    "FEATURE_MODELS",
    "RATES",
    "CausalModel",
    "Diagnostics",
    "Effect",
    "FittedCausalModel",
    "LocalWorld",
    "SimilarityCausalModel",
    "Surroundings",
    "SyntheticCausalModel",
    "SyntheticMechanism",
    "SyntheticSettings",
    "as_assignment",
    "at_random",
    "at_rate",
    "attribute_only",
    "edge_changes",
    "features_only",
    "flipped",
    "for_graph",
    "named",
    "node_uniform",
    "pair_uniform",
    "released_world",
    "sample",
    "structure_only",
    "structure_with",
]

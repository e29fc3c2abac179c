"""Causal models: what a graph would be, had its sensitive attribute been another."""

from fairgear.causal.base import CAUSAL_MODELS, CausalModel, FeatureCausalModel
from fairgear.causal.credibility import Credibility, credibility, unsteadiness
from fairgear.causal.diagnostics import Diagnostics, Effect, edge_changes
from fairgear.causal.diagram import Diagram
from fairgear.causal.dowhy_model import DowhyFeatures, frame_of
from fairgear.causal.features import (
    FEATURE_MODELS,
    Columns,
    Dosed,
    FeatureModel,
    FeatureSequential,
    feature_model,
)
from fairgear.causal.fitted import FittedCausalModel
from fairgear.causal.interventions import (
    MIXED,
    as_assignment,
    assigned,
    at_random,
    at_rate,
    attribute_only,
    changed_groups,
    features_only,
    flipped,
    intervention_name,
    released_world,
    structure_only,
    structure_with,
    whole_graph,
    with_group,
)
from fairgear.causal.local import LocalWorld
from fairgear.causal.selection import for_graph, named, with_features
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.surroundings import Surroundings
from fairgear.causal.synthetic.mechanism import SyntheticMechanism
from fairgear.causal.synthetic.model import SyntheticCausalModel
from fairgear.causal.synthetic.sampling import sample
from fairgear.causal.synthetic.settings import SyntheticSettings
from fairgear.hashing import node_uniform, pair_uniform

__all__ = [
    "CAUSAL_MODELS",
    "FEATURE_MODELS",
    "MIXED",
    "CausalModel",
    "Columns",
    "Credibility",
    "Diagnostics",
    "Diagram",
    "Dosed",
    "DowhyFeatures",
    "Effect",
    "FeatureCausalModel",
    "FeatureModel",
    "FeatureSequential",
    "FittedCausalModel",
    "LocalWorld",
    "SimilarityCausalModel",
    "Surroundings",
    "SyntheticCausalModel",
    "SyntheticMechanism",
    "SyntheticSettings",
    "as_assignment",
    "assigned",
    "at_random",
    "at_rate",
    "attribute_only",
    "changed_groups",
    "credibility",
    "edge_changes",
    "feature_model",
    "features_only",
    "flipped",
    "for_graph",
    "frame_of",
    "intervention_name",
    "named",
    "node_uniform",
    "pair_uniform",
    "released_world",
    "sample",
    "structure_only",
    "structure_with",
    "unsteadiness",
    "whole_graph",
    "with_features",
    "with_group",
]

"""Feature models: how a person's row follows the sensitive attribute."""

from fairgear.causal.features.base import FEATURE_MODELS, FeatureModel, feature_model
from fairgear.causal.features.columns import Columns
from fairgear.causal.features.dose import Dosed
from fairgear.causal.features.gaussian import FeatureGaussian
from fairgear.causal.features.location_scale import FeatureLocationScale
from fairgear.causal.features.quantile import FeatureQuantiles
from fairgear.causal.features.sequential import FeatureSequential
from fairgear.causal.features.shift import FeatureShift

__all__ = [
    "FEATURE_MODELS",
    "Columns",
    "Dosed",
    "FeatureGaussian",
    "FeatureLocationScale",
    "FeatureModel",
    "FeatureQuantiles",
    "FeatureSequential",
    "FeatureShift",
    "feature_model",
]

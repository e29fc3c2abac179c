"""Scikit-learn: methods on tables of people, for `GridSearchCV`, `cross_validate` and pipelines."""

from fairgear.sklearn.estimators import NodeClassifier, NodeRegressor
from fairgear.sklearn.scorers import FewestFlips, worst_flips_scorer

__all__ = ["FewestFlips", "NodeClassifier", "NodeRegressor", "worst_flips_scorer"]

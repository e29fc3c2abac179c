"""The settings of the methods that see no graph. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fairgear.settings import Config, OneOf, Range

THRESHOLDS = ("half", "validation")
# What is tried where C is left open, the strongest penalty first.
C_TRIED = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# Trees grown where their number is left open.
MOST_TREES = 300


@dataclass(frozen=True)
class LogisticConfig(Config):
    """How a logistic regression is fitted."""

    C: Annotated[float | None, Range(1e-08, 100000000.0)] = None
    """Weight of the training people's losses against the penalty ‖w‖²/2, as scikit-learn counts
    it. [of 0.001, 0.01, 0.1, 1, 10 and 100 the one with the least log-loss on validation people]"""
    threshold: Annotated[str, OneOf(*THRESHOLDS)] = "half"
    """The decision threshold: `half` (0.5), or the most accurate on `validation` data."""


@dataclass(frozen=True)
class BoostingConfig(Config):
    """How boosted trees are grown."""

    trees: Annotated[int | None, Range(1, 10000)] = None
    """How many. [300 are grown, and of these the first so many kept as have the least log-loss on
    validation people]"""
    depth: Annotated[int, Range(1, 32)] = 3
    """Questions on the way to a leaf, at most."""
    learning_rate: Annotated[float, Range(1e-06, 1.0)] = 0.1
    """Share of each tree's answer that is added."""
    threshold: Annotated[str, OneOf(*THRESHOLDS)] = "half"
    """The decision threshold: `half` (0.5), or the most accurate on `validation` data."""

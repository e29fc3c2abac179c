"""Measures of predictions: how good they are, how groups fare, what flips, and how sure one is."""

from fairgear.metrics.base import METRICS, Metric
from fairgear.metrics.counterfactual import (
    AverageFlips,
    Flips,
    ScoreChange,
    between_worlds,
    flip_rate,
    flips,
    over_rates,
    score_change,
)
from fairgear.metrics.dependence import r2
from fairgear.metrics.differences import PairedPredictions, difference_intervals
from fairgear.metrics.estimates import Estimate, evaluate_predictions, flip_estimate
from fairgear.metrics.group import GroupRow, GroupTable, delta_dp, delta_eo, group_table
from fairgear.metrics.intervals import (
    UNDEFINED,
    Interval,
    cluster_bootstrap,
    draws_error,
    from_json_number,
    to_json_number,
)
from fairgear.metrics.paired import paired_interval
from fairgear.metrics.rates import difference_interval, rate_interval
from fairgear.metrics.utility import accuracy, auroc, f1, weighted_auroc

__all__ = [
    "METRICS",
    "UNDEFINED",
    "AverageFlips",
    "Estimate",
    "Flips",
    "GroupRow",
    "GroupTable",
    "Interval",
    "Metric",
    "PairedPredictions",
    "ScoreChange",
    "accuracy",
    "auroc",
    "between_worlds",
    "cluster_bootstrap",
    "delta_dp",
    "delta_eo",
    "difference_interval",
    "difference_intervals",
    "draws_error",
    "evaluate_predictions",
    "f1",
    "flip_estimate",
    "flip_rate",
    "flips",
    "from_json_number",
    "group_table",
    "over_rates",
    "paired_interval",
    "r2",
    "rate_interval",
    "score_change",
    "to_json_number",
    "weighted_auroc",
]

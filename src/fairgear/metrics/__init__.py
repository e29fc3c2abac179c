"""Measures of predictions: utility, gaps between groups, flips, dependence, and their intervals."""

from fairgear.metrics.counterfactual import (
    AverageFlips,
    Flips,
    between_worlds,
    flips,
    over_rates,
)
from fairgear.metrics.dependence import r2
from fairgear.metrics.differences import (
    PairedPredictions,
    difference_intervals,
    paired_interval,
)
from fairgear.metrics.estimates import (
    EVERY_METRIC,
    METRICS,
    Estimate,
    Metric,
    evaluate_predictions,
    flip_estimate,
    largest_estimate,
)
from fairgear.metrics.group import GroupRow, GroupTable, delta_dp, delta_eo, group_table
from fairgear.metrics.intervals import (
    UNDEFINED,
    Interval,
    cluster_bootstrap,
    draws_error,
)
from fairgear.metrics.rates import difference_interval, rate_interval
from fairgear.metrics.tradeoff import fewest_flips, pareto_front
from fairgear.metrics.utility import accuracy, auroc, f1, weighted_auroc

__all__ = [
    "EVERY_METRIC",
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
    "fewest_flips",
    "flip_estimate",
    "flips",
    "group_table",
    "largest_estimate",
    "over_rates",
    "paired_interval",
    "pareto_front",
    "r2",
    "rate_interval",
    "weighted_auroc",
]

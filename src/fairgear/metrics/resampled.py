"""Measures of one set of predictions on resamples of its communities, one value a resample.

All take `clusters`, whole numbers from 0, and `weights` (resamples, C), how often each of the C
communities counts, as `intervals.multiplicities` draws them. Two models measured with the same
weights are measured on the same resamples. A resample in which a measure has no value gives NaN.
"""

from __future__ import annotations

import numpy as np

from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import over_nodes
from fairgear.metrics.utility import weighted_auroc


def resampled_gap(hits: Floats, group: Integers, clusters: Integers, weights: Floats) -> Floats:
    """The mean of `hits` in group 1 minus that in group 0: signed ΔDP; among class 1, ΔEO."""
    columns = [group == 0, group == 1, (group == 0) * hits, (group == 1) * hits]
    count0, count1, hits0, hits1 = _weighted_sums(columns, clusters, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = hits1 / count1 - hits0 / count0
    return result


def resampled_f1(y: Integers, pred: Integers, clusters: Integers, weights: Floats) -> Floats:
    """F1 of class 1."""
    both, either = _weighted_sums([y & pred, y | pred], clusters, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = 2 * both / (both + either)
    return result


def resampled_auroc(y: Integers, scores: Floats, clusters: Integers, weights: Floats) -> Floats:
    """AUROC of scores."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return over_nodes(weighted_auroc(y, scores), weights, clusters)


def resampled_correlation(
    pred: Integers, summary: Floats, clusters: Integers, weights: Floats
) -> Floats:
    """Correlation of predicted labels with a summary that varies; its square is R²."""
    x = summary - summary.mean()
    x = x / np.abs(x).max()
    columns = [np.ones_like(x), pred, x, pred * x, x * x]
    total, p, m, pm, mm = _weighted_sums(columns, clusters, weights)
    spread = (total * p - p * p) * (total * mm - m * m)
    result: Floats = (total * pm - p * m) / np.sqrt(np.where(spread > 0, spread, np.nan))
    return result


def _weighted_sums(
    columns: list[Floats] | list[Integers], clusters: Integers, weights: Floats
) -> Floats:
    """The sum of each column over the nodes of each resample, (columns, resamples)."""
    count = weights.shape[1]
    sums = np.stack([np.bincount(clusters, weights=c, minlength=count) for c in columns], axis=1)
    result: Floats = (weights @ sums).T
    return result

"""Measures of predicted numbers, and how much of any answer the surroundings explain."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from fairgear.metrics.classes import as_classes
from fairgear.metrics.inputs import Floats, Values, as_finite, same_length, undefined


def mae(y: Values, pred: Values) -> float:
    """Mean absolute error, in the units of the label."""
    return float(np.abs(_residuals(y, pred)).mean())


def rmse(y: Values, pred: Values) -> float:
    """Root mean squared error, in the units of the label."""
    return float(np.sqrt(np.square(_residuals(y, pred)).mean()))


def prediction_r2(y: Values, pred: Values) -> float:
    """1 − squared errors ÷ squared deviations of y from its mean; NaN if all y are equal."""
    labels, residuals = as_finite("y", y), _residuals(y, pred)
    if np.ptp(labels) == 0:
        return undefined("R² of prediction", "all labels are equal")
    return float(1 - (residuals @ residuals) / np.square(labels - labels.mean()).sum())


def mean_gap(values: Values, *, sensitive_features: Values, unit: float = 1.0) -> float:
    """The largest difference of the mean of `values` over pairs of groups, ÷ `unit`."""
    group = as_classes("sensitive_features", sensitive_features)
    found = as_finite("values", values)
    same_length(values=found, sensitive_features=group)
    means = [found[group == g].mean() for g in np.unique(group)]
    if len(means) < 2:
        return undefined("a gap of means", "there is one group only")
    return float(max(abs(a - b) for a, b in combinations(means, 2)) / unit)


def explained_share(answers: Floats, summary: Floats) -> float:
    """1 − tr Σ_res / tr Σ_Y of a linear regression of answers (n, C) on a summary (n, m).

    Answers are one-hot classes, or numbers in one column; the summary is the mean of the code of s
    over the closed neighbourhood. For two classes and one column it is the squared correlation.
    NaN if the answers or the summary do not vary.
    """
    y, x = (part - part.mean(axis=0) for part in (as_columns(answers), as_columns(summary)))
    if not np.ptp(y, axis=0).any() or not np.ptp(x, axis=0).any():
        return undefined("R²", "all predictions or all summaries are equal")
    residuals = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(np.clip(1 - np.square(residuals).sum() / np.square(y).sum(), 0.0, 1.0))


def adjusted(r2: float, people: int, regressors: int = 1) -> float:
    """R² less what chance explains: 1 − (1 − R²)(n − 1)/(n − m − 1)."""
    if people <= regressors + 1:
        return math.nan
    return 1 - (1 - r2) * (people - 1) / (people - regressors - 1)


def as_columns(values: Floats) -> Floats:
    """A vector as one column, in 64 bits."""
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def _residuals(y: Values, pred: Values) -> Floats:
    labels, found = as_finite("y", y), as_finite("pred", pred)
    same_length(y=labels, pred=found)
    return labels - found

"""Measures of predictions of several classes; for two classes they are those of the binary case."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.metrics.inputs import (
    Floats,
    Integers,
    Values,
    as_vector,
    same_length,
    undefined,
)
from fairgear.metrics.utility import auroc, f1


def as_classes(name: str, values: Values, count: int | None = None) -> Integers:
    """Class or group numbers from 0, one for each person; below `count` if given."""
    array = as_vector(name, values)
    wrong = array[(array < 0) | (array != np.floor(array))]
    wrong = wrong if count is None or len(wrong) else array[array >= count]
    if len(wrong):
        got = f"the values {', '.join(f'{value:g}' for value in np.unique(wrong)[:5])}"
        allowed = "whole numbers from 0" + ("" if count is None else f" to {count - 1}")
        raise ParameterError(name, got, allowed, "keep people with a label only")
    return array.astype(np.int64)


def as_probabilities(name: str, values: NDArray[np.float64] | Tensor) -> Floats:
    """Finite scores (n, C), one column a class."""
    array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values, np.float64)
    if array.ndim != 2 or array.shape[1] < 2 or not np.isfinite(array).all():
        got, allowed = f"shape {array.shape}, or NaN", "finite scores (n, classes)"
        raise ParameterError(name, got, allowed, "pass predict_proba")
    return array


def counted(classes: int) -> range:
    """The classes that measures look at: of two, the gap of one is that of the other."""
    return range(1, 2) if classes == 2 else range(classes)


def macro_auroc(y: Values, scores: NDArray[np.float64] | Tensor) -> float:
    """The mean over the classes of the AUROC of one class against the rest.

    For two classes the AUROC. NaN if a class has nobody.
    """
    table = as_probabilities("scores", scores)
    labels = as_classes("y", y, table.shape[1])
    same_length(y=labels, scores=table)
    which = counted(table.shape[1])
    if any(not 0 < (labels == one).sum() < len(labels) for one in which):
        return undefined("AUROC", "a class has nobody")
    return float(np.mean([auroc(labels == one, table[:, one]) for one in which]))


def macro_f1(y: Values, pred: Values) -> float:
    """The mean of F1 over the classes that somebody is of, or is predicted to be of."""
    labels, answers = as_classes("y", y), as_classes("pred", pred)
    same_length(y=labels, pred=answers)
    present = np.union1d(labels, answers)
    return float(np.mean([f1(labels == one, answers == one) for one in present]))


def class_rates(
    pred: Values, *, sensitive_features: Values, classes: int, y: Values | None = None
) -> Floats:
    """P(ŷ = c | group), or P(ŷ = c | y = c, group) given y: (groups, classes), NaN of nobody."""
    answers = as_classes("pred", pred, classes)
    group = as_classes("sensitive_features", sensitive_features)
    same_length(pred=answers, sensitive_features=group)
    labels = None if y is None else as_classes("y", y, classes)
    found = np.full((int(group.max()) + 1, classes), math.nan)
    for g, c in np.ndindex(*found.shape):
        among = group == g if labels is None else (group == g) & (labels == c)
        found[g, c] = (answers[among] == c).mean() if among.any() else math.nan
    return found


def largest_gap(rates: Floats) -> tuple[float, tuple[int, int, int]]:
    """The largest |rate − rate'| over classes and pairs of groups, and (class, group, group').

    Pairs without people are left out; NaN if none is left. Of two classes the second counts.
    """
    best, where = math.nan, (0, 0, 0)
    for one in counted(rates.shape[1]):
        for first, second in combinations(range(len(rates)), 2):
            gap = abs(float(rates[second, one] - rates[first, one]))
            if gap > best or (math.isnan(best) and not math.isnan(gap)):
                best, where = gap, (one, first, second)
    return best, where


def least_ratio(rates: Floats) -> float:
    """The least over the classes of min ÷ max over the groups; 1 is alike, NaN of nobody."""
    found = []
    for one in counted(rates.shape[1]):
        known = rates[~np.isnan(rates[:, one]), one]
        if len(known) > 1 and known.max() > 0:
            found.append(float(known.min() / known.max()))
    return min(found, default=math.nan)

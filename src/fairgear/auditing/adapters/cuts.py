"""Cuts: by which of its numbers, and where, a scikit-learn classifier tells 1 from 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from scipy.special import expit
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

Method = Literal["predict_proba", "decision_function"]
_METHODS: tuple[Method, ...] = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class Cut:
    """Label 1 is given to scores above the threshold.

    Attributes:
        method: what gives the scores; a decision function is turned into probabilities by the
            logistic function.
        threshold: of probabilities.
        note: how the model was read, where it is not as usual.
    """

    method: Method
    threshold: float = 0.5
    note: str = ""


def possible_cuts(model: Any) -> list[Cut]:
    """The ways in which its `predict` may decide, the likeliest first."""
    chosen = _thresholded(model)
    if chosen is not None:
        return _own_cuts(chosen)
    # One that has neither is asked all the same, and the error then says so.
    found = [Cut(method) for method in _METHODS if hasattr(model, method)] or [Cut(_METHODS[0])]
    note = (
        "Its predict goes by its decision_function, not by its predict_proba: so does this audit, "
        "with the logistic function of it cut at 0.5."
    )
    return [*found[:1], *(Cut(cut.method, note=note) for cut in found[1:])]


def _thresholded(model: Any) -> Any:
    """The part of the model that was given a threshold of its own; None where there is none."""
    while True:
        if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
            return model
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return None


def _own_cuts(model: Any) -> list[Cut]:
    """As it is, and turned round: a threshold may be one of class 0, and need not say so."""
    usual = next(method for method in _METHODS if hasattr(model, method))
    method: Method = usual if model.response_method == "auto" else model.response_method
    by_odds = method == "decision_function"
    known = model.threshold if hasattr(model, "threshold") else model.best_threshold_
    threshold = (0.0 if by_odds else 0.5) if known == "auto" else float(known)
    note = f"Its own threshold is used: {threshold:g} of its {method}"
    note += ", by the logistic function." if by_odds else "."
    # It gives its class where the number is the threshold or more; here label 1 is above it.
    upward = float(expit(threshold)) if by_odds else threshold
    downward = float(expit(-threshold)) if by_odds else 1 - threshold
    return [
        Cut(method, math.nextafter(upward, -math.inf), note),
        Cut(method, downward, note),
    ]

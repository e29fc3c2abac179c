"""Factual measures: utility, group gaps and R² on the graph as it is, labels known or not."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from fairgear.auditing.model import Predictions
from fairgear.auditing.notes import noting
from fairgear.metrics import UNDEFINED, Estimate, evaluate_predictions
from fairgear.metrics.inputs import Floats, Integers

# What needs no label is measured on everyone, the rest on those whose label is known.
_UNLABELLED = {"delta_dp": "ΔDP", "r2": "R²"}
LABELLED = ("accuracy", "f1", "auroc", "delta_eo")


def factual_estimates(
    y: Integers,
    predictions: Predictions,
    sens: Integers,
    summary: Floats,
    clusters: Integers,
    notes: list[str],
    *,
    level: float,
    seed: int,
) -> Mapping[str, Estimate]:
    """Estimates by metric; what is undefined is NaN, and `notes` says why."""
    known = y >= 0

    def estimates(among: Integers, labels: Integers) -> dict[str, Estimate]:
        return evaluate_predictions(
            labels[among],
            predictions.scores[among],
            predictions.labels[among],
            sensitive_features=sens[among],
            summary=summary[among],
            clusters=clusters[among],
            level=level,
            seed=seed,
        )

    if known.all():
        with noting(notes):
            return estimates(np.arange(len(y)), y)
    result = {key: Estimate(math.nan, UNDEFINED) for key in LABELLED}
    if known.any():
        of_known: list[str] = []
        with noting(of_known):
            measured = estimates(np.flatnonzero(known), y)
        result |= {key: measured[key] for key in LABELLED}
        notes.extend(n for n in of_known if not n.startswith(tuple(_UNLABELLED.values())))
        notes.append(
            f"{int(known.sum())} of {len(y)} people have a known label: accuracy, F1, AUROC and "
            "ΔEO are measured on them, all else on everyone."
        )
    else:
        notes.append("No label is known: accuracy, F1, AUROC and ΔEO are undefined.")
    # Neither ΔDP nor R² reads the labels; the predicted ones stand in, and what the other
    # measures would make of them is dropped.
    of_all: list[str] = []
    with noting(of_all):
        measured = estimates(np.arange(len(y)), predictions.labels)
    result |= {key: measured[key] for key in _UNLABELLED}
    notes.extend(n for n in of_all if n.startswith(tuple(_UNLABELLED.values())))
    return result

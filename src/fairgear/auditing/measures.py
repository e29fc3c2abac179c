"""Measures on the factual graph, of everybody: accuracy, gaps between groups and R²."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.people import People
from fairgear.errors import UndefinedMetricWarning
from fairgear.graph.targets import Target, is_known
from fairgear.metrics import (
    EVERY_METRIC,
    UNDEFINED,
    Estimate,
    evaluate_predictions,
)
from fairgear.metrics.estimates import f1_interval
from fairgear.metrics.inputs import Integers
from fairgear.metrics.target_estimates import Sample, class_estimates, number_estimates
from fairgear.metrics.utility import f1

# Without labels these are measured on everyone, the others on those whose label is known.
_UNLABELLED = {"delta_dp": "ΔDP", "r2": "R²"}
LABELLED = ("accuracy", "f1", "auroc", "delta_eo")
_LABELLED_BY_KIND = {
    "multiclass": ("accuracy", "macro_f1", "auroc", "delta_eo", "eo_ratio"),
    "regression": ("mae", "rmse", "r2_prediction", "delta_residual"),
}


def labelled_metrics(target: Target) -> tuple[str, ...]:
    """The measures on the factual graph that read labels."""
    return LABELLED if target.is_binary else _LABELLED_BY_KIND[target.kind]


def factual_estimates(
    people: People, predictions: Predictions, notes: list[str], *, level: float, seed: int
) -> Mapping[str, Estimate]:
    """Estimates by metric; undefined ones are NaN, and `notes` says why."""
    if not predictions.how.target.is_binary:
        return _other_estimates(people, predictions, notes, level=level, seed=seed)
    y = people.y
    known = y >= 0

    def estimates(among: Integers, labels: Integers, warned: list[str]) -> dict[str, Estimate]:
        with collecting(warned):
            if not people.two_groups:
                return _of_several_groups(people, predictions, labels, among, level, seed)
            return evaluate_predictions(
                labels[among],
                predictions.scores[among],
                predictions.labels[among],
                sensitive_features=people.group[among],
                summary=people.around[among],
                clusters=people.clusters[among],
                level=level,
                seed=seed,
            )

    everyone = np.arange(len(y))
    if known.all():
        return estimates(everyone, y, notes)
    unlabelled = tuple(_UNLABELLED.values())
    result = {key: Estimate(math.nan, UNDEFINED) for key in LABELLED}
    warned: list[str] = []
    if known.any():
        measured = estimates(np.flatnonzero(known), y, warned)
        result |= {key: measured[key] for key in LABELLED}
        notes.extend(note for note in warned if not note.startswith(unlabelled))
        notes.append(
            f"{int(known.sum())} of {len(y)} people have a known label: accuracy, F1, AUROC and "
            "ΔEO are measured on them, everything else on everyone."
        )
    else:
        notes.append("No label is known: accuracy, F1, AUROC and ΔEO are undefined.")
    # ΔDP and R² do not read labels, so predictions can stand in for them; the measures that do
    # read labels are dropped here.
    warned = []
    measured = estimates(everyone, predictions.labels, warned)
    result |= {key: measured[key] for key in _UNLABELLED}
    notes.extend(note for note in warned if note.startswith(unlabelled))
    return result


def _of_several_groups(
    people: People,
    predictions: Predictions,
    labels: Integers,
    among: Integers,
    level: float,
    seed: int,
) -> dict[str, Estimate]:
    """Two classes and several groups or ranges: gaps are the largest over all pairs of them."""
    scores, pred = predictions.scores[among], predictions.labels[among]
    y, clusters = labels[among], people.clusters[among]
    sample = Sample(
        y,
        np.stack([1 - scores, scores], axis=1),
        pred,
        people.group[among],
        people.around[among],
        clusters,
        predictions.how.target,
        level=level,
        seed=seed,
    )
    found = class_estimates(sample)
    del found["macro_f1"]
    return found | {"f1": Estimate(f1(y, pred), f1_interval(y, pred, clusters, level))}


def _other_estimates(
    people: People, predictions: Predictions, notes: list[str], *, level: float, seed: int
) -> Mapping[str, Estimate]:
    """The same for several classes and numbers."""
    target, known = predictions.how.target, is_known(people.y)
    labelled = labelled_metrics(target)

    def estimates(y: NDArray[Any], among: Integers) -> dict[str, Estimate]:
        sample = Sample(
            y[among],
            predictions.scores[among],
            predictions.labels[among],
            people.group[among],
            people.around[among],
            people.clusters[among],
            target,
            level=level,
            seed=seed,
        )
        return number_estimates(sample) if target.is_number else class_estimates(sample)

    result = {key: Estimate(math.nan, UNDEFINED) for key in labelled}
    if known.any():
        with collecting(notes):
            measured = estimates(people.y, np.flatnonzero(known))
        result |= {key: measured[key] for key in labelled}
    if not known.all():
        count = int(known.sum()) or "No"
        shown = ", ".join(EVERY_METRIC[key].label for key in labelled)
        notes.append(f"{count} of {len(known)} people have a known label: {shown} are of them.")
    # What reads no label is measured on everyone, with answers in the place of labels.
    with collecting([] if known.all() else notes):
        measured = estimates(predictions.labels, np.arange(len(known)))
    return result | {key: one for key, one in measured.items() if key not in labelled}


@contextmanager
def collecting(notes: list[str]) -> Iterator[None]:
    """Inside, warnings about undefined measures become notes; others stay warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UndefinedMetricWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, UndefinedMetricWarning):
            note = sentence(str(warning.message))
            if note not in notes:
                notes.append(note)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def sentence(text: str) -> str:
    """`text` with a capital and a full stop; symbols such as ΔDP stay as they are."""
    first = text[:1].upper() + text[1:] if text[:1].isascii() else text
    return first if first.endswith(".") else f"{first}."

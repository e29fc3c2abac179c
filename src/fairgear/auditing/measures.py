"""Measures on the factual graph: accuracy, group gaps and R², in all and by group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.people import People
from fairgear.errors import UndefinedMetricWarning
from fairgear.graph.targets import BINARY, Target, is_known
from fairgear.metrics import (
    EVERY_METRIC,
    UNDEFINED,
    Estimate,
    Interval,
    cluster_bootstrap,
    evaluate_predictions,
    rate_interval,
)
from fairgear.metrics.estimates import f1_interval
from fairgear.metrics.inputs import Floats, Integers
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


@dataclass(frozen=True)
class GroupSummary:
    """One line of the table by group; a share is NaN where nobody counts towards it.

    Attributes:
        group: the value of the sensitive attribute; of a number, which of its ranges.
        count: people.
        labelled: those whose label is known.
        positives: those of class 1.
        selected: those predicted to be of class 1.
        selection_rate: share of `selected` among all.
        true_positive_rate: share predicted to be of class 1 among `positives`.
        accuracy: share of right predictions among `labelled`.
        delta_cf: share of labels that flip, averaged over the strict whole-graph worlds.
        intervals: of the four shares, and of `figures`, by their names.
        figures: for several classes the share of each answer, for numbers the mean label,
            prediction and residual; empty for two classes, and those of two classes NaN here.
    """

    group: int
    count: int
    labelled: int
    positives: int
    selected: int
    selection_rate: float
    true_positive_rate: float
    accuracy: float
    delta_cf: float
    intervals: dict[str, Interval]
    figures: dict[str, float] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """A share, or one of `figures`."""
        return self.figures[name] if name in self.figures else float(getattr(self, name))

    def people(self, share: str) -> int:
        """How many people a share is taken of."""
        of = {"true_positive_rate": self.positives, "accuracy": self.labelled}
        of |= {"mean label": self.labelled, "mean residual": self.labelled}
        return of.get(share, self.count)


def summarise_groups(
    people: People,
    labels: NDArray[Any],
    flip_share: Floats | None,
    *,
    level: float,
    target: Target = BINARY,
) -> tuple[GroupSummary, ...]:
    """All groups; `flip_share` is None without a causal model."""
    if not target.is_binary:
        groups = np.unique(people.group).tolist()
        return tuple(_summary(people, labels, target, flip_share, g, level) for g in groups)
    y, clusters, regions = people.y, people.clusters, people.regions
    flips = np.full(len(y), math.nan) if flip_share is None else flip_share

    def summary(group: int) -> GroupSummary:
        member = people.group == group
        known, positive = member & (y >= 0), member & (y == 1)
        shares: dict[str, tuple[Floats, NDArray[np.bool_]]] = {
            "selection_rate": (labels.astype(np.float64), member),
            "true_positive_rate": (labels.astype(np.float64), positive),
            "accuracy": ((labels == y).astype(np.float64), known),
            "delta_cf": (flips, member & ~np.isnan(flips)),
        }
        return GroupSummary(
            group=group,
            count=int(member.sum()),
            labelled=int(known.sum()),
            positives=int(positive.sum()),
            selected=int(labels[member].sum()),
            **_means_of(shares),
            intervals={
                name: rate_interval(
                    values[among], clusters[among], level=level, regions=regions[among]
                )
                if among.any()
                else UNDEFINED
                for name, (values, among) in shares.items()
            },
        )

    least = range(2 if people.band is None else people.ranges)
    return tuple(summary(group) for group in sorted({*least, *people.group.tolist()}))


def _means_of(shares: Mapping[str, tuple[Floats, NDArray[np.bool_]]]) -> dict[str, Any]:
    """Of each of them, among some people; NaN of nobody."""
    return {
        name: float(values[among].mean()) if among.any() else math.nan
        for name, (values, among) in shares.items()
    }


def _summary(
    people: People,
    labels: NDArray[Any],
    target: Target,
    flip_share: Floats | None,
    group: int,
    level: float,
) -> GroupSummary:
    """One group, for several classes or numbers."""
    known, member = is_known(people.y), people.group == group
    nowhere = np.zeros(len(member), dtype=np.bool_)
    flips = np.full(len(member), math.nan) if flip_share is None else flip_share
    right, judged = (labels == people.y).astype(np.float64), member & known
    shares = {
        "selection_rate": (flips, nowhere),
        "true_positive_rate": (flips, nowhere),
        "accuracy": (right, nowhere if target.is_number else judged),
        "delta_cf": (flips, member & ~np.isnan(flips)),
    }
    figures = {
        f"answer {name}": ((labels == number).astype(np.float64), member)
        for number, name in enumerate(target.classes)
    }
    if target.is_number:
        figures = {
            "mean label": (people.y, judged),
            "mean prediction": (labels, member),
            "mean residual": (people.y - labels, judged),
        }
    every = shares | figures

    def interval(name: str, values: Floats, among: NDArray[np.bool_]) -> Interval:
        if not among.any():
            return UNDEFINED
        clusters, regions = people.clusters[among], people.regions[among]
        if name in figures and target.is_number:
            with collecting([]):
                return _mean_interval(values[among], clusters, level)
        return rate_interval(values[among], clusters, level=level, regions=regions)

    found = _means_of(every)
    return GroupSummary(
        group=group,
        count=int(member.sum()),
        labelled=int(judged.sum()),
        positives=0,
        selected=0,
        selection_rate=math.nan,
        true_positive_rate=math.nan,
        accuracy=found["accuracy"],
        delta_cf=found["delta_cf"],
        intervals={name: interval(name, *one) for name, one in every.items()},
        figures={name: found[name] for name in figures},
    )


def _mean_interval(values: Floats, clusters: Integers, level: float) -> Interval:
    return cluster_bootstrap(lambda w: w @ values / w.sum(axis=1), clusters, level=level)


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

"""Measures on the factual graph: accuracy, group gaps and R², in all and by group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.people import People
from fairgear.errors import UndefinedMetricWarning
from fairgear.metrics import UNDEFINED, Estimate, Interval, evaluate_predictions, rate_interval
from fairgear.metrics.inputs import Floats, Integers

# Without labels these are measured on everyone, the others on those whose label is known.
_UNLABELLED = {"delta_dp": "ΔDP", "r2": "R²"}
LABELLED = ("accuracy", "f1", "auroc", "delta_eo")


def factual_estimates(
    people: People, predictions: Predictions, notes: list[str], *, level: float, seed: int
) -> Mapping[str, Estimate]:
    """Estimates by metric; undefined ones are NaN, and `notes` says why."""
    y = people.y
    known = y >= 0

    def estimates(among: Integers, labels: Integers, warned: list[str]) -> dict[str, Estimate]:
        with collecting(warned):
            return evaluate_predictions(
                labels[among],
                predictions.scores[among],
                predictions.labels[among],
                sensitive_features=people.sens[among],
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


@dataclass(frozen=True)
class GroupSummary:
    """One line of the table by group; a share is NaN where nobody counts towards it.

    Attributes:
        group: the value of the sensitive attribute.
        count: people.
        labelled: those whose label is known.
        positives: those of class 1.
        selected: those predicted to be of class 1.
        selection_rate: share of `selected` among all.
        true_positive_rate: share predicted to be of class 1 among `positives`.
        accuracy: share of right predictions among `labelled`.
        delta_cf: share of labels that flip, averaged over the strict whole-graph worlds.
        intervals: of the four shares, by their names.
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

    def people(self, share: str) -> int:
        """How many people a share is taken of."""
        of = {"true_positive_rate": self.positives, "accuracy": self.labelled}
        return of.get(share, self.count)


def summarise_groups(
    people: People, labels: Integers, flip_share: Floats | None, *, level: float
) -> tuple[GroupSummary, ...]:
    """Both groups; `flip_share` is None without a causal model."""
    y, clusters, regions = people.y, people.clusters, people.regions
    flips = np.full(len(y), math.nan) if flip_share is None else flip_share

    def summary(group: int) -> GroupSummary:
        member = people.sens == group
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
            **{
                name: float(values[among].mean()) if among.any() else math.nan
                for name, (values, among) in shares.items()
            },
            intervals={
                name: rate_interval(
                    values[among], clusters[among], level=level, regions=regions[among]
                )
                if among.any()
                else UNDEFINED
                for name, (values, among) in shares.items()
            },
        )

    return tuple(summary(group) for group in (0, 1))


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

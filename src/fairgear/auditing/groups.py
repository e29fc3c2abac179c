"""GroupSummary: one group of people, and how it fares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.json_fields import from_fields, to_fields
from fairgear.metrics import UNDEFINED, Interval, rate_interval
from fairgear.metrics.inputs import Floats, Integers

_SHARES = ("selection_rate", "true_positive_rate", "accuracy", "delta_cf")


@dataclass(frozen=True)
class GroupSummary:
    """One line of the table by group; shares are NaN where there is nobody to take them of.

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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the interval of a share is under its name and `_interval`."""
        shares = to_fields(self)
        del shares["intervals"]
        return shares | {f"{key}_interval": ends.to_json() for key, ends in self.intervals.items()}

    def people(self, share: str) -> int:
        """How many people a share is taken of."""
        of = {"true_positive_rate": self.positives, "accuracy": self.labelled}
        return of.get(share, self.count)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GroupSummary:
        """What `to_dict` gave."""
        ends = {key: Interval.from_json(data[f"{key}_interval"]) for key in _SHARES}
        return from_fields(cls, {**data, "intervals": ends})


def summarise_groups(
    y: Integers,
    labels: Integers,
    sens: Integers,
    clusters: Integers,
    flip_share: Floats | None,
    *,
    level: float,
) -> tuple[GroupSummary, ...]:
    """Both groups; `y` may be −1 where unknown, `flip_share` None where it cannot be known."""
    flips = np.full(len(y), math.nan) if flip_share is None else flip_share

    def summary(group: int) -> GroupSummary:
        member = sens == group
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
                name: rate_interval(values[among], clusters[among], level=level)
                if among.any()
                else UNDEFINED
                for name, (values, among) in shares.items()
            },
        )

    return tuple(summary(group) for group in (0, 1))

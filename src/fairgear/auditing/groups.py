"""GroupSummary: one group of people, and how it fares."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import to_json_number


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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            key: to_json_number(value) if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }


def summarise_groups(
    y: Integers, labels: Integers, sens: Integers, flip_share: Floats | None
) -> tuple[GroupSummary, ...]:
    """Both groups; `y` may be −1 where unknown, `flip_share` None where it cannot be known."""

    def summary(group: int) -> GroupSummary:
        member = sens == group
        known, positive = member & (y >= 0), member & (y == 1)
        return GroupSummary(
            group=group,
            count=int(member.sum()),
            labelled=int(known.sum()),
            positives=int(positive.sum()),
            selected=int(labels[member].sum()),
            selection_rate=_mean(labels[member]),
            true_positive_rate=_mean(labels[positive]),
            accuracy=_mean(labels[known] == y[known]),
            delta_cf=math.nan if flip_share is None else _mean(flip_share[member]),
        )

    return tuple(summary(group) for group in (0, 1))


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan

"""How differently the two groups are treated: a table by group, with ΔDP and ΔEO as views on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.metrics.inputs import Values, as_labels, same_length, undefined


@dataclass(frozen=True)
class GroupRow:
    """One group: its people, those of class 1, and how many of each were selected.

    Attributes:
        group: the value of the sensitive attribute.
        count: people in the group.
        selected: those predicted to be of class 1.
        positives: those of class 1; None if the labels are not known.
        true_positives: those of class 1 and predicted to be; None if the labels are not known.

    Example:
        >>> from fairgear.metrics import group_table
        >>> first, second = group_table([1, 0, 1, 1], sensitive_features=[0, 0, 1, 1]).rows
        >>> first
        GroupRow(group=0, count=2, selected=1, positives=None, true_positives=None)
        >>> second.selected / second.count
        1.0
    """

    group: int
    count: int
    selected: int
    positives: int | None = None
    true_positives: int | None = None

    @property
    def selection_rate(self) -> float:
        """P(ŷ = 1 | group); NaN in an empty group."""
        return self.selected / self.count if self.count else math.nan

    @property
    def true_positive_rate(self) -> float:
        """P(ŷ = 1 | y = 1, group); NaN if the group has no positives or no labels."""
        if not self.positives or self.true_positives is None:
            return math.nan
        return self.true_positives / self.positives


@dataclass(frozen=True)
class GroupTable:
    """Both groups, with the signed differences between them (group 1 minus group 0).

    Example:
        >>> from fairgear.metrics import group_table
        >>> table = group_table([1, 0, 1, 1], sensitive_features=[0, 0, 1, 1], y=[1, 0, 0, 1])
        >>> table.selection_rate_difference, table.true_positive_rate_difference
        (0.5, 0.0)
    """

    rows: tuple[GroupRow, GroupRow]

    @property
    def selection_rate_difference(self) -> float:
        """Selection rate of group 1 minus that of group 0; its absolute value is ΔDP."""
        return self.rows[1].selection_rate - self.rows[0].selection_rate

    @property
    def true_positive_rate_difference(self) -> float:
        """True positive rate of group 1 minus that of group 0; its absolute value is ΔEO."""
        return self.rows[1].true_positive_rate - self.rows[0].true_positive_rate


def group_table(pred: Values, *, sensitive_features: Values, y: Values | None = None) -> GroupTable:
    """The table by group; it has true positive rates if the labels `y` are given.

    Example:
        >>> from fairgear.metrics import group_table
        >>> table = group_table([1, 0, 1, 1], sensitive_features=[0, 0, 1, 1])
        >>> [(row.group, row.count, row.selected) for row in table.rows]
        [(0, 2, 1), (1, 2, 2)]
    """
    pred = as_labels("pred", pred)
    group = as_labels("sensitive_features", sensitive_features)
    same_length(pred=pred, sensitive_features=group)
    labels = None if y is None else as_labels("y", y)
    if labels is not None:
        same_length(y=labels, pred=pred)

    def row(value: int) -> GroupRow:
        member = group == value
        count, selected = int(member.sum()), int(pred[member].sum())
        if labels is None:
            return GroupRow(value, count, selected)
        positives, true_positives = int(labels[member].sum()), int((labels & pred)[member].sum())
        return GroupRow(value, count, selected, positives, true_positives)

    return GroupTable((row(0), row(1)))


def delta_dp(pred: Values, *, sensitive_features: Values) -> float:
    """ΔDP = `|P(ŷ = 1 | s = 1) − P(ŷ = 1 | s = 0)|`; NaN if a group is empty.

    Example:
        >>> from fairgear.metrics import delta_dp
        >>> delta_dp([1, 0, 1, 1], sensitive_features=[0, 0, 1, 1])
        0.5
    """
    table = group_table(pred, sensitive_features=sensitive_features)
    for row in table.rows:
        if row.count == 0:
            return undefined("ΔDP", f"group {row.group} is empty")
    return abs(table.selection_rate_difference)


def delta_eo(y: Values, pred: Values, *, sensitive_features: Values) -> float:
    """ΔEO = `|P(ŷ = 1 | y = 1, s = 1) − P(ŷ = 1 | y = 1, s = 0)|`; NaN if nobody is of class 1.

    Example:
        >>> from fairgear.metrics import delta_eo
        >>> delta_eo([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=[0, 0, 1, 1])
        0.5
    """
    table = group_table(pred, sensitive_features=sensitive_features, y=y)
    for row in table.rows:
        if not row.positives:
            return undefined("ΔEO", f"nobody in group {row.group} is of class 1")
    return abs(table.true_positive_rate_difference)

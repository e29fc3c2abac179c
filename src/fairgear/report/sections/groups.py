"""How the groups fare: counts and rates by group, and the gap between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairgear.auditing import Audit, GroupSummary
from fairgear.report.charts import IntervalChart, Scale, dot, scale_over
from fairgear.report.numbers import answer_one, between, count, group_name, measure, percent, signed

_COUNTS = (
    ("count", "people", "Audited people of the group."),
    ("labelled", "with a known class", "Those for whom it is known whether the answer is right."),
    ("positives", "of class 1", "Those who are of class 1."),
    ("selected", "with answer 1", "Those who get answer 1."),
)
_RATES = (
    ("selection_rate", "answer 1", "How often people of the group get answer 1."),
    ("true_positive_rate", "answer 1, of class 1", "The same among those who are of class 1."),
    ("accuracy", "right answer", "How often the answer is right."),
    (
        "delta_cf",
        "another answer in other worlds",
        "δCF within the group: how often the answer changes with the sensitive attributes.",
    ),
)


_NUMBERS = {
    "mean label": "The mean of the known numbers.",
    "mean prediction": "The mean of what is predicted.",
    "mean residual": "Label less prediction: above 0, the group is underestimated.",
}


# Groups that fit side by side in a table.
MANY = 6


@dataclass(frozen=True)
class GroupRow:
    """One count or rate in each group, with its interval where there is one, and the gap."""

    name: str
    meaning: str
    cells: tuple[tuple[str, str], ...]
    gap: str


@dataclass(frozen=True)
class GroupSection:
    """The section on the groups."""

    groups: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    charts: tuple[IntervalChart, ...]
    gap_of: str

    @property
    def upright(self) -> bool:
        """Whether groups are rows of the table: as columns, so many would not fit on a screen."""
        return len(self.groups) > MANY


def group_section(audit: Audit) -> GroupSection:
    """The section on all groups."""
    if not audit.target.is_binary:
        return _other_section(audit)
    names = [group_name(group.group, audit.names) for group in audit.groups]
    counts = [
        GroupRow(
            answer_one(name, audit.names),
            meaning,
            tuple((count(getattr(group, key)), "") for group in audit.groups),
            "",
        )
        for key, name, meaning in _COUNTS
    ]
    rates = [(key, answer_one(name, audit.names), meaning) for key, name, meaning in _RATES]
    return GroupSection(
        groups=tuple(names),
        rows=(*counts, *(_rate(audit.groups, key, name, meaning) for key, name, meaning in rates)),
        charts=_charts(audit, names, rates),
        gap_of=_gap_of(names),
    )


def _other_section(audit: Audit) -> GroupSection:
    """The section for several classes and numbers."""
    groups, names = audit.groups, [group_name(group.group, audit.names) for group in audit.groups]
    counts = [
        GroupRow(name, meaning, tuple((count(getattr(one, key)), "") for one in groups), "")
        for key, name, meaning in _COUNTS[:2]
    ]
    rates = [one for one in _RATES[2:] if not (audit.target.is_number and one[0] == "accuracy")]
    written = measure if audit.target.is_number else percent
    figures = [
        GroupRow(
            name,
            _NUMBERS.get(name, "How often people of the group get this answer."),
            tuple((written(g.figures[name]), between(g.intervals[name], written)) for g in groups),
            _gap([one.figures[name] for one in groups]),
        )
        for name in groups[0].figures
    ]
    return GroupSection(
        groups=tuple(names),
        rows=(*counts, *figures, *(_rate(groups, *one) for one in rates)),
        charts=_charts(audit, names, rates),
        gap_of=_gap_of(names),
    )


def _rate(groups: Sequence[GroupSummary], key: str, name: str, meaning: str) -> GroupRow:
    cells = tuple(
        (percent(getattr(group, key)), between(group.intervals[key], percent)) for group in groups
    )
    return GroupRow(name, meaning, cells, _gap([getattr(group, key) for group in groups]))


def _gap(values: Sequence[float]) -> str:
    """Of two groups the second less the first, of more the largest less the least."""
    if len(values) == 2:
        return signed(values[1] - values[0])
    known = [value for value in values if not math.isnan(value)]
    return measure(max(known) - min(known) if known else math.nan)


def _gap_of(names: Sequence[str]) -> str:
    return f"{names[1]} minus {names[0]}" if len(names) == 2 else "largest gap"


def _charts(
    audit: Audit, names: Sequence[str], rates: Sequence[tuple[str, str, str]]
) -> tuple[IntervalChart, ...]:
    return tuple(_chart(audit.groups, names, key, name) for key, name, _ in rates)


def _chart(
    groups: Sequence[GroupSummary], names: Sequence[str], key: str, name: str
) -> IntervalChart:
    shown = [(getattr(group, key), group.intervals[key]) for group in groups]
    # Flips are rare: on an axis from 0 to 1 they would all lie at the left end.
    scale = scale_over(shown) if key == "delta_cf" else Scale(0.0, 1.0, 0.5)
    dots = tuple(
        # There are marks for two; more are told apart by their names alone.
        dot(scale, names[place], f"group{place if len(shown) == 2 else 0}", value, ends)
        for place, (value, ends) in enumerate(shown)
    )
    return IntervalChart(name, scale.ticks(), dots)

"""How the groups fare: rates by group, and the signed gap between them."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.figures import IntervalChart, dot, scale_over
from fairgear.report.names import answer_one, group_name, names_of
from fairgear.report.numbers import count, percent, percents_between, signed
from fairgear.report.parts import Part, interval, mapping, number, rows
from fairgear.report.scales import Scale

_RATES = (
    ("selection_rate", "answer 1", "How often people of the group get answer 1."),
    ("true_positive_rate", "answer 1, of class 1", "The same among those who are of class 1."),
    ("accuracy", "right answer", "How often the answer is right."),
)
_FLIPS = (
    "delta_cf",
    "another answer in other worlds",
    "δCF within the group: how often the answer changes with the sensitive attributes.",
)
_COUNTS = (("count", "people", "Evaluated people of the group."),)
_MORE_COUNTS = (
    ("labelled", "with a known class", "Those of whom it is known whether the answer is right."),
    ("positives", "of class 1", "Those who are of class 1."),
    ("selected", "with answer 1", "Those who get answer 1."),
)


@dataclass(frozen=True)
class GroupRow:
    """One count or rate in every group, with its interval where there is one, and the gap."""

    name: str
    meaning: str
    cells: tuple[tuple[str, str], ...]
    gap: str


@dataclass(frozen=True)
class GroupSection:
    """Everything said about the groups."""

    groups: tuple[str, ...]
    counts: tuple[GroupRow, ...]
    rows: tuple[GroupRow, ...]
    charts: tuple[IntervalChart, ...]
    gap_of: str


def group_section(part: Part, *, in_full: bool = False) -> GroupSection | None:
    """The section; None where no groups were recorded.

    Args:
        part: a run or an audit.
        in_full: whether to show also the flips and every count of a group.
    """
    found = rows(mapping(part, "details"), "groups")
    if not found:
        return None
    names = names_of(part)
    groups = tuple(group_name(row.get("group"), names) for row in found)
    counted = (*_COUNTS, *_MORE_COUNTS) if in_full else _COUNTS
    measured = (*_RATES, _FLIPS) if in_full else _RATES
    rates = [(key, answer_one(name, names), meaning) for key, name, meaning in measured]
    return GroupSection(
        groups=groups,
        counts=tuple(
            _count_row(found, key, answer_one(name, names), meaning)
            for key, name, meaning in counted
        ),
        rows=tuple(_row(found, key, name, meaning) for key, name, meaning in rates),
        charts=tuple(_chart(found, groups, key, name) for key, name, _ in rates),
        gap_of=f"{groups[1]} minus {groups[0]}" if len(groups) == 2 else "",
    )


def _count_row(found: list[Part], key: str, name: str, meaning: str) -> GroupRow:
    return GroupRow(name, meaning, tuple((count(row.get(key)), "") for row in found), "")


def _row(found: list[Part], key: str, name: str, meaning: str) -> GroupRow:
    values = [number(row, key) for row in found]
    gap = None
    if len(values) == 2 and values[0] is not None and values[1] is not None:
        gap = values[1] - values[0]
    return GroupRow(
        name=name,
        meaning=meaning,
        cells=tuple((percent(number(row, key)), _interval(row, key)) for row in found),
        gap=signed(gap),
    )


def _interval(row: Part, key: str) -> str:
    """The interval of a rate; nothing where none was asked for."""
    name = f"{key}_interval"
    return percents_between(interval(row[name])) if name in row else ""


def _chart(found: list[Part], groups: tuple[str, ...], key: str, name: str) -> IntervalChart:
    shown = [(number(row, key), interval(row.get(f"{key}_interval"))) for row in found]
    # Flips are rare: from 0 to 1 they would all lie at the left end.
    scale = scale_over(shown) if key == "delta_cf" else Scale(0.0, 1.0, 0.5)
    dots = tuple(
        dot(scale, groups[place], f"group{place % 2}", value, ends)
        for place, (value, ends) in enumerate(shown)
    )
    return IntervalChart(name, scale.ticks(), dots)

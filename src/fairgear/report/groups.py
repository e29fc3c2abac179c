"""How the groups fare: rates by group, and the signed gap between them."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.figures import IntervalChart, dot
from fairgear.report.numbers import count, measure, percent, plain
from fairgear.report.parts import Part, mapping, number, rows, sequence
from fairgear.report.scales import Scale

_RATES = (
    ("selection_rate", "answer 1", "How often people of the group get answer 1."),
    ("true_positive_rate", "answer 1, of class 1", "The same among those who are of class 1."),
    ("accuracy", "right answer", "How often the answer is right."),
)


@dataclass(frozen=True)
class GroupRow:
    """One rate in every group, and the gap."""

    name: str
    meaning: str
    values: tuple[str, ...]
    gap: str


@dataclass(frozen=True)
class GroupSection:
    """Everything said about the groups."""

    groups: tuple[str, ...]
    counts: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    charts: tuple[IntervalChart, ...]
    gap_of: str


def group_section(run: Part) -> GroupSection | None:
    """The section; None where no groups were recorded."""
    found = rows(mapping(run, "details"), "groups")
    if not found:
        return None
    words = mapping(mapping(run, "details"), "names")
    groups = tuple(_group(row, words) for row in found)
    rates = [(key, _answer(name, words), meaning) for key, name, meaning in _RATES]
    return GroupSection(
        groups=groups,
        counts=tuple(count(row.get("count")) for row in found),
        rows=tuple(_row(found, key, name, meaning) for key, name, meaning in rates),
        charts=tuple(_chart(found, groups, key, name) for key, name, _ in rates),
        gap_of=f"{groups[1]} minus {groups[0]}" if len(groups) == 2 else "",
    )


def _group(row: Part, words: Part) -> str:
    """A group by its number, and by the word that the data had for it, if any."""
    group, known = row.get("group"), sequence(words, "groups")
    if not isinstance(group, int) or not 0 <= group < len(known):
        return f"group {plain(group)}"
    return f"group {group}, {known[group]}"


def _answer(name: str, words: Part) -> str:
    known = sequence(words, "answers")
    return name.replace("answer 1", f"answer 1 ({known[1]})") if len(known) == 2 else name


def _row(found: list[Part], key: str, name: str, meaning: str) -> GroupRow:
    values = [number(row, key) for row in found]
    gap = None
    if len(values) == 2 and values[0] is not None and values[1] is not None:
        gap = values[1] - values[0]
    signed = f"+{measure(gap)}" if gap is not None and gap > 0 else measure(gap)
    return GroupRow(name, meaning, tuple(percent(value) for value in values), signed)


def _chart(found: list[Part], groups: tuple[str, ...], key: str, name: str) -> IntervalChart:
    scale = Scale(0.0, 1.0, 0.5)
    dots = tuple(
        dot(scale, groups[place], f"group{place % 2}", number(row, key), None)
        for place, row in enumerate(found)
    )
    return IntervalChart(name, scale.ticks(), dots)

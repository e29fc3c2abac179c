"""How the groups fare: the table by group, with impact ratios and the four-fifths line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairgear.auditing import Audit, GroupSummary
from fairgear.auditing.groups import SMALL_SHARE, UNKNOWN
from fairgear.metrics import UNDEFINED, Interval
from fairgear.metrics.ratios import RateTest
from fairgear.report.charts import Range, Scale, ranged
from fairgear.report.numbers import (
    answer_words,
    attribute_name,
    between,
    count,
    group_words,
    measure,
    percent,
    plain,
    signed,
)
from fairgear.report.sections.group_curves import GroupCurves, group_curves

# Groups that fit side by side in a table.
MANY = 6
FOUR_FIFTHS = 0.8
# Above this, a ratio lies at the end of its scale.
_MOST = 1.5
_BELOW, _BELOW_SURELY = "▽", "▼"
_NUMBERS = {
    "mean label": "The mean of the known numbers.",
    "mean prediction": "The mean of what is predicted.",
    "mean residual": "Label less prediction: above 0, the group is underestimated.",
}


@dataclass(frozen=True)
class Column:
    """One figure of the table: the field of `GroupSummary`, its head and what it means."""

    key: str
    name: str
    meaning: str
    share: bool = True

    def written(self, value: float) -> str:
        """A value as the table has it."""
        return percent(value) if self.share else measure(value)

    def ends(self, ends: Interval) -> str:
        """An interval, with its unit once."""
        return between(ends, self.written).replace(" % to ", " to ")


@dataclass(frozen=True)
class Cell:
    """A figure of a group.

    Attributes:
        value: in words; empty where the figure is not of this group.
        interval: likewise.
        of: how many people it is taken of.
        range: both on the scale of impact ratios.
        sign: of the four-fifths line, beside its `words`.
    """

    value: str
    interval: str = ""
    of: str = ""
    range: Range | None = None
    sign: str = ""
    words: str = ""

    @property
    def below(self) -> bool:
        """Whether it is below the four-fifths line."""
        return self.sign in (_BELOW, _BELOW_SURELY)

    @property
    def sure(self) -> bool:
        """Whether the whole interval is."""
        return self.sign == _BELOW_SURELY


@dataclass(frozen=True)
class Line:
    """One group: its name, people, those without a label, and its figures."""

    name: str
    people: str
    unlabelled: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """The lines of one attribute or of all of them crossed, and the gap between them."""

    title: str
    lines: tuple[Line, ...]
    gaps: tuple[str, ...] = ()
    gap_of: str = ""


@dataclass(frozen=True)
class GroupSection:
    """The section on the groups.

    Attributes:
        columns: the figures.
        blocks: the lines, by attribute.
        tests: sentences on whether selection rates are equal.
        four_fifths: where that line lies on the scale of impact ratios; None without ratios.
        reference: the groups whose rates others are compared with, in words.
        curves: scores, ROC and calibration by group.
    """

    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    tests: tuple[str, ...]
    four_fifths: float | None
    reference: str
    curves: GroupCurves


def group_section(audit: Audit) -> GroupSection:
    """The section on all groups."""
    columns, binary = _columns(audit), audit.target.is_binary
    attributes = [one.name for one in audit.names.attributes]
    crossed = f"{attribute_name(audit.names)} together" if attributes else ""
    blocks = [
        _block(audit, name, columns, [one for one in audit.margins if one.attribute == name])
        for name in attributes
    ]
    blocks.append(_block(audit, crossed, columns, audit.groups))
    unknown = [one for one in audit.margins if one.group == UNKNOWN and not one.attribute]
    blocks += [Block("", tuple(_line(audit, one, columns) for one in unknown))] if unknown else []
    return GroupSection(
        columns=columns,
        blocks=tuple(one for one in blocks if one.lines),
        tests=tuple(_test_words(test, audit) for test in audit.rate_tests),
        four_fifths=_SCALE.at(FOUR_FIFTHS) if binary else None,
        reference=f"{100 * SMALL_SHARE:g} %",
        curves=group_curves(audit),
    )


def _columns(audit: Audit) -> tuple[Column, ...]:
    """The figures of the audit's kind of label; without other worlds none is of them."""
    measured = [one.delta_cf for one in audit.groups if not math.isnan(one.delta_cf)]
    found = _figures(audit)
    return found if measured else tuple(one for one in found if one.key != "delta_cf")


def _figures(audit: Audit) -> tuple[Column, ...]:
    worlds = Column(
        "delta_cf",
        "other answer in other worlds",
        "δCF within the group: how often the answer changes with the sensitive attributes.",
    )
    accuracy = Column("accuracy", "right answer", "How often the answer is right.")
    if audit.target.is_number:
        return (*(Column(name, name, words, False) for name, words in _NUMBERS.items()), worlds)
    if not audit.target.is_binary:
        figures = audit.groups[0].figures if audit.groups else {}
        said = "How often people of the group get this answer."
        return (*(Column(name, name, said) for name in figures), accuracy, worlds)
    yes = answer_words(1, audit.names)
    return (
        Column("selection_rate", f"get {yes}", f"Selection rate: how often people get {yes}."),
        Column(
            "impact_ratio",
            "impact ratio",
            "The selection rate divided by the highest; the line is four fifths.",
            share=False,
        ),
        Column(
            "true_positive_rate",
            f"get it, with that label ({_of_class(1, audit)})",
            "True positive rate: how often those get it whose label it is. The others are false "
            "negatives.",
        ),
        Column(
            "false_positive_rate",
            f"get it, with the other label ({_of_class(0, audit)})",
            "False positive rate: how often those get it whose label is the other.",
        ),
        accuracy,
        Column(
            "auroc",
            "AUROC",
            "How often a person of class 1 has a higher score than one of class 0; 0.5 is chance.",
            share=False,
        ),
        worlds,
    )


def _of_class(label: int, audit: Audit) -> str:
    classes = audit.names.classes
    return classes[label] if len(classes) == 2 else str(label)


def _block(
    audit: Audit, title: str, columns: Sequence[Column], groups: Sequence[GroupSummary]
) -> Block:
    lines = tuple(_line(audit, one, columns) for one in groups)
    if len(groups) < 2:
        return Block(title, lines)
    last, first = lines[1].name, lines[0].name
    return Block(
        title=title,
        lines=lines,
        gaps=tuple(_gap(groups, column) for column in columns),
        gap_of=f"{last} minus {first}" if len(groups) == 2 else "largest gap",
    )


def _gap(groups: Sequence[GroupSummary], column: Column) -> str:
    """Of two groups the second less the first, of more the largest less the least."""
    values = [one.value(column.key) for one in groups]
    if column.key == "impact_ratio":
        return ""
    if len(values) == 2:
        return signed(values[1] - values[0])
    known = [value for value in values if not math.isnan(value)]
    return measure(max(known) - min(known) if known else math.nan)


def _line(audit: Audit, one: GroupSummary, columns: Sequence[Column]) -> Line:
    cells = tuple(_cell(one, column) for column in columns)
    return Line(name_of(one, audit), count(one.count), count(one.unlabelled), cells)


def name_of(one: GroupSummary, audit: Audit) -> str:
    """A group, a value of one attribute, or the people whose attribute is unknown, in words."""
    if one.group == UNKNOWN:
        return f"{attribute_name(audit.names).removeprefix('the ')} unknown"
    for attribute in audit.names.attributes:
        if attribute.name == one.attribute:
            return attribute.values[one.group]
    return group_words(one.group, audit.names)


def _cell(one: GroupSummary, column: Column) -> Cell:
    value, ends = one.value(column.key), one.intervals.get(column.key, UNDEFINED)
    if column.key == "impact_ratio":
        return _ratio(one, value, ends)
    of = f"of {count(one.people(column.key))}" if column.share else ""
    if column.key == "selection_rate":
        of = f"{count(one.selected)} {of}"
    if column.key == "delta_cf" or column.key in one.figures:
        of = ""
    return Cell(column.written(value), column.ends(ends), of)


# Impact ratios of all groups are drawn on one scale.
_SCALE = Scale(0.0, _MOST, 0.5)


def _ratio(one: GroupSummary, value: float, ends: Interval) -> Cell:
    if one.group == UNKNOWN:
        return Cell("not compared")
    sign, words = _four_fifths(value, ends)
    # The group that others are compared with has its own rate as a whole.
    highest = value == 1 and ends == Interval(1.0, 1.0)
    return Cell(
        measure(value),
        "" if highest else between(ends),
        range=ranged(_SCALE, value, UNDEFINED if highest else ends),
        sign="" if highest else sign,
        words="highest rate" if highest else words,
    )


def _four_fifths(value: float, ends: Interval) -> tuple[str, str]:
    """On which side of the line a ratio is, as a sign and in words."""
    if math.isnan(value):
        return "", ""
    # 4 of 10 beside 5 of 10 is no less than four fifths, however the quotient is rounded.
    line = FOUR_FIFTHS - 1e-9
    below = value < line
    sure = ends.defined and (ends.high < line if below else ends.low >= line)
    if below:
        return (_BELOW_SURELY, "under 4/5") if sure else (_BELOW, "under 4/5, not surely")
    return ("✓", "over 4/5") if sure else ("○", "over 4/5, not surely")


def _test_words(test: RateTest, audit: Audit) -> str:
    kind = "ranges" if audit.names.number else "groups"
    whose = f"all {kind}" if not test.attribute else f"the values of {test.attribute}"
    if math.isnan(test.p_value):
        return f"Whether {whose} have equal rates could not be tested."
    chance = "less than 0.1 %" if test.p_value < 0.001 else percent(test.p_value)
    degrees = f"{test.degrees} {'degree' if test.degrees == 1 else 'degrees'} of freedom"
    rough = ", roughly, since some groups are small" if test.least_expected < 5 else ""
    return (
        f"If {whose} had equal rates, rates that differ at least as much would be found in "
        f"{chance} of samples{rough} (χ² {plain(test.statistic)}, {degrees}, people who are linked "
        "count for less)."
    )

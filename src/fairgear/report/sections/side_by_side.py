"""What one model changes for whom: both verdicts, answers and flips by group, scores, people."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.auditing.changes import UNKNOWN, Both, Changes, ScorePoint
from fairgear.report.charts import Tick, nice
from fairgear.report.numbers import (
    answer_words,
    group_words,
    measure,
    own_attribute,
    percent,
    place,
)
from fairgear.report.sections.verdict import Verdict, verdict

# Parts of a bar, and what they are for answers and for flips.
_KINDS = ("both", "first", "second", "neither")


@dataclass(frozen=True)
class Part:
    """Some of a group's people, and where their part of the bar begins and how long it is."""

    kind: str
    people: int
    at: float
    length: float


@dataclass(frozen=True)
class Bar:
    """A group, as one bar of four parts."""

    group: str
    people: int
    parts: tuple[Part, ...]
    words: str


@dataclass(frozen=True)
class Bars:
    """One bar for each group; `names` are those of the parts."""

    title: str
    names: tuple[tuple[str, str], ...]
    rows: tuple[Bar, ...]


@dataclass(frozen=True)
class Mark:
    """A person in the chart of scores: place, and who gives answer 1."""

    x: float
    y: float
    kind: str


@dataclass(frozen=True)
class Scatter:
    """The scores of the first model across, and of the second upwards."""

    summary: str
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_threshold: float
    y_threshold: float
    kinds: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Person:
    """A row of the list of people."""

    name: str
    group: str
    label: str
    cells: tuple[tuple[str, str], ...]
    apart: str


@dataclass(frozen=True)
class Side:
    """One of the two models, and its verdict."""

    name: str
    verdict: Verdict


@dataclass(frozen=True)
class SideBySide:
    """Two models side by side."""

    sides: tuple[Side, ...]
    moves: tuple[str, ...]
    answers: Bars
    flips: Bars | None
    scatter: Scatter
    people: tuple[Person, ...]
    apart: str


def side_by_side(audit: Audit) -> SideBySide | None:
    """What the audited model changes for whom; None where it is not compared with another one."""
    found = None if audit.comparison is None else audit.comparison.changes
    if found is None or audit.comparison is None:
        return None
    names = (audit.comparison.first, audit.comparison.second)
    audits = (audit,) if audit.against is None else (audit, audit.against)
    sides = [Side(name, verdict(one)) for name, one in zip(names, audits, strict=False)]
    return SideBySide(
        sides=tuple(sides),
        moves=_moves(audit, found),
        answers=_answers(audit, found),
        flips=_flips(audit, found),
        scatter=_scatter(audit, found),
        people=_people(audit, found),
        apart="difference of ranks" if found.by_rank else "difference",
    )


def _group(group: int, audit: Audit) -> str:
    return "unknown" if group == UNKNOWN else group_words(group, audit.names)


def _moves(audit: Audit, found: Changes) -> tuple[str, ...]:
    """Who gets another answer with the first model than with the second."""
    yes = answer_words(1, audit.names)
    return tuple(
        f"{_group(row.group, audit)}: {_of(row.answers.first, row.answers)} would get {yes}, "
        f"{_of(row.answers.second, row.answers)} would lose it."
        for row in found.groups
    )


def _of(people: int, both: Both) -> str:
    return f"{people:,} of {both.people:,} ({percent(people / both.people)})"


def _answers(audit: Audit, found: Changes) -> Bars:
    yes, no = (answer_words(label, audit.names) for label in (1, 0))
    names = (f"{yes} by both", f"{yes} by the first alone", f"{yes} by the second alone")
    rows = [_bar(_group(row.group, audit), row.answers) for row in found.groups]
    return _bars(f"Who gets {yes}", (*names, f"{no} by both"), rows)


def _flips(audit: Audit, found: Changes) -> Bars | None:
    rows = [_bar(_group(row.group, audit), row.flips) for row in found.groups if row.flips.people]
    names = ("changes by both", "by the first alone", "by the second alone", "by neither")
    title = f"Whose answer changes when {own_attribute(audit.names, 'their own')} alone does"
    return _bars(title, names, rows) if rows else None


def _bars(title: str, names: tuple[str, ...], rows: list[Bar]) -> Bars:
    return Bars(title, tuple(zip(_KINDS, names, strict=True)), tuple(rows))


def _bar(group: str, both: Both) -> Bar:
    parts, begin = [], 0
    for kind in _KINDS:
        people: int = getattr(both, kind)
        at, end = place(begin / both.people), place((begin + people) / both.people)
        parts.append(Part(kind, people, at, round(end - at, 2)))
        begin += people
    shares = [percent((both.both + one) / both.people) for one in (both.first, both.second)]
    words = f"{shares[0]} by the first, {shares[1]} by the second"
    return Bar(group, both.people, tuple(parts), words)


def _scatter(audit: Audit, found: Changes) -> Scatter:
    points = [p for p in found.points if math.isfinite(p.first) and math.isfinite(p.second)]
    x, y = (nice([getattr(point, which) for point in points]) for which in ("first", "second"))
    marks = [Mark(x.at(p.first), round(100 - y.at(p.second), 2), _kind(p)) for p in points]
    thresholds = [
        math.nan if one is None else one.model.threshold for one in (audit, audit.against)
    ]
    yes, no = (answer_words(label, audit.names) for label in (1, 0))
    counts = [sum(mark.kind == kind for mark in marks) for kind in _KINDS]
    words = (
        f"{counts[0]} of {len(marks)} people get {yes} by both models, {counts[1]} by the first "
        f"alone, {counts[2]} by the second alone, {counts[3]} {no} by both."
    )
    # Of a model of scores on another scale the threshold may lie outside.
    at = [
        scale.at(value) if scale.low <= value <= scale.high else math.nan
        for scale, value in zip((x, y), thresholds, strict=True)
    ]
    return Scatter(
        summary=words,
        marks=tuple(marks),
        x_ticks=x.ticks(),
        y_ticks=y.ticks(),
        x_threshold=at[0],
        y_threshold=round(100 - at[1], 2),
        kinds=(
            ("same", "the same answer"),
            ("first", f"{yes} by the first alone"),
            ("second", f"{yes} by the second alone"),
        ),
    )


def _kind(point: ScorePoint) -> str:
    return _KINDS[(point.first_label != 1) * 2 + (point.second_label != 1)]


def _people(audit: Audit, found: Changes) -> tuple[Person, ...]:
    return tuple(
        Person(
            name=str(one.node_id),
            group=_group(one.group, audit),
            label="unknown" if one.y < 0 else answer_words(one.y, audit.names),
            cells=(
                (measure(one.first_score), answer_words(one.first_label, audit.names)),
                (measure(one.second_score), answer_words(one.second_label, audit.names)),
            ),
            apart=measure(one.apart),
        )
        for one in found.people
    )

"""People whose sensitive attribute is unknown: how many, how it is guessed, what depends on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.auditing.unknown import UnknownPeople
from fairgear.metrics import EVERY_METRIC
from fairgear.metrics.gap_bounds import GapBounds
from fairgear.report.numbers import between, count, measure, percent


@dataclass(frozen=True)
class UnknownRow:
    """One metric: its value, its range over completions and its bounds over all assignments."""

    name: str
    value: str
    over: str
    bounds: str


@dataclass(frozen=True)
class UnknownSection:
    """The section on them."""

    sentences: tuple[str, ...]
    parts: tuple[tuple[str, str, str], ...]
    rows: tuple[UnknownRow, ...]
    legend: tuple[str, ...]


def unknown_section(audit: Audit, unknown: UnknownPeople) -> UnknownSection:
    """The section of an audit with such people."""
    names = unknown.ranges or unknown.bounds
    rows = tuple(
        UnknownRow(
            EVERY_METRIC[key].label,
            measure(audit.metrics[key]),
            between(unknown.ranges[key]) if key in unknown.ranges else "",
            _bounds(unknown.bounds.get(key)),
        )
        for key in names
        if key in audit.metrics
    )
    return UnknownSection(
        sentences=(unknown.summary, _guessing(unknown)),
        parts=tuple((one.name, count(one.people), count(one.unknown)) for one in unknown.parts),
        rows=rows,
        legend=_legend(unknown),
    )


def _guessing(unknown: UnknownPeople) -> str:
    found = unknown.guessing
    if math.isnan(found.calibration_error):
        return (
            f"Of those who told, fits on others explain {percent(found.right)} of the attribute's "
            "variance. The rest is drawn from what these fits leave over."
        )
    return (
        f"Of those who told, fits on others guess {percent(found.right)} right; naming the largest "
        f"group for everybody would be right for {percent(found.base)}. How likely groups are said "
        f"to be is off by {percent(found.calibration_error)} on average."
    )


def _bounds(found: GapBounds | None) -> str:
    if found is None:
        return ""
    if math.isnan(found.largest):
        return measure(found.largest)
    least = measure(found.least) if found.exact else f"at least {measure(found.least)}"
    return f"{least} to {measure(found.largest)}"


def _legend(unknown: UnknownPeople) -> tuple[str, ...]:
    """What the columns of the table are."""
    found = ["The range over completions is that of the draws. It contains no choice of people."]
    if unknown.bounds:
        found.append(
            "Bounds take no model: they are over every group that the audited people of unknown "
            "group could be of, with the answers held. Both ends come about, except for those "
            "after “at least”."
        )
    return tuple(found)

"""The verdict of an audit of links: how many predictions change, whose, and how right they are."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairgear.links.metrics import LINK_METRICS
from fairgear.links.result import LinkAudit
from fairgear.metrics import UNDEFINED
from fairgear.report.numbers import (
    attribute_name,
    group_words,
    measure,
    own_attribute,
    percent,
)
from fairgear.report.sections.severity import LEVELS, Figure, severity
from fairgear.report.sections.verdict import COLOURS, Affected, Gauge, Verdict

EVERYBODY, EITHER, BOTH, OTHERS = (
    "delta_cf",
    "delta_cf_either",
    "delta_cf_both_ends",
    "delta_cf_neighbours",
)
# Cells that the first screen shows.
_SHOWN = 6
# A share of a list's places that counts as none.
_NONE = 0.005


def link_verdict(audit: LinkAudit) -> Verdict:
    """What a reader with one minute should learn."""
    level, title, told = _judged(audit)
    cells = _affected(audit)
    return Verdict(
        level=level,
        title=title,
        figure=told,
        sentences=tuple(_sentences(audit)),
        accurate=_accurate(audit),
        gauges=_gauges(audit),
        asked=f"Share of the pairs between these groups whose prediction changes when "
        f"{own_attribute(audit.names, 'everybody’s')} is another",
        affected=cells[:_SHOWN],
        more=max(0, len(cells) - _SHOWN),
        would_change=(),
    )


def colour(verdict: Verdict) -> str:
    """Of the banner."""
    return COLOURS[verdict.level]


def figure(audit: LinkAudit, name: str) -> Figure:
    """A measure and its interval; NaN where it was not measured."""
    return audit.metrics.get(name, math.nan), audit.intervals.get(name, UNDEFINED)


def _copying(audit: LinkAudit) -> Mapping[str, float]:
    """What a model has that predicts a link where both ends are of one group."""
    known = (one.metrics for one in audit.references if one.name == "copying")
    return next(known, {})


def _judged(audit: LinkAudit) -> tuple[str, str, str]:
    """Level, title and figure: of the more severe of one end's attribute and everybody's."""
    name, copying = attribute_name(audit.names), _copying(audit)
    figures = {key: figure(audit, key) for key in (EITHER, EVERYBODY)}
    levels = {
        key: severity(*one, copying.get(key, math.nan) if key == EVERYBODY else math.nan)
        for key, one in figures.items()
    }
    level = min(levels.values(), key=LEVELS.index)
    if level == "unknown":
        return level, f"Not known: whether predicted links change with {name}", ""
    moved = any(figure(audit, key)[0] > 0 for key in (EVERYBODY, EITHER, BOTH, OTHERS))
    alike = audit.pairs["label"].nunique() == 1 and not moved
    if level in ("unsure", "few", "none") and alike:
        return "unsure", "Predicts the same for every pair", "no prediction could change"
    most = max(ends.high if ends.defined else 1.0 for _, ends in figures.values())
    words = {
        "decides": f"Predicts links by {name}",
        "strong": f"Predicted links depend strongly on {name}",
        "depends": f"Predicted links depend on {name}",
        "unsure": f"Too few pairs to tell whether predicted links depend on {name}",
        "few": f"Few predicted links depend on {name}",
        "none": f"No difference larger than {percent(most)} could hide",
    }
    return level, words[level], "" if level == "none" else _told(audit)


def _told(audit: LinkAudit) -> str:
    """Both figures in words, as far as they are known."""
    one, everybody = figure(audit, EITHER)[0], figure(audit, EVERYBODY)[0]
    change = "of predictions change when"
    own = own_attribute(audit.names, "one person’s")
    all_of = own_attribute(audit.names, "everybody’s")
    if math.isnan(one):
        return f"{percent(everybody)} {change} {all_of} is another"
    if math.isnan(everybody):
        return f"{percent(one)} {change} {own} is another"
    return f"{percent(one)} {change} {own} is another, {percent(everybody)} when everybody’s is"


def _sentences(audit: LinkAudit) -> list[str]:
    """Lists, and pairs of one group and of two."""
    found = []
    everybody, alone = (figure(audit, key)[0] for key in ("list_change", "list_change_alone"))
    k = audit.setup.k
    if not math.isnan(everybody):
        own = own_attribute(audit.names, "everybody’s")
        said = f"Of the {k} people that it would recommend to a person, {_people(everybody, k)} "
        said += f"others when {own} is another"
        if not math.isnan(alone):
            said += f", and {_people(alone, k)} when only the person’s own is"
        found.append(f"{said}.")
    rates = {cell.name: cell.rate for cell in audit.cells}
    same, different = (rates.get(name, math.nan) for name in ("same", "different"))
    if not math.isnan(same) and not math.isnan(different):
        found.append(
            f"A link is predicted for {percent(same)} of the pairs within a group and for "
            f"{percent(different)} of those between groups."
        )
    return found


def _people(share: float, k: int) -> str:
    """How many of a list that is, on average."""
    if share < _NONE:
        return "none are"
    return f"{share * k:.1f} are" if share * k >= 0.05 else "fewer than 0.1 are"


def _accurate(audit: LinkAudit) -> str:
    """How right it is, and what common neighbours alone reach."""
    known = (one.metrics.get("auroc") for one in audit.references if one.name != "copying")
    floor = next((value for value in known if value is not None), math.nan)
    said = f"It tells linked pairs from others with an AUROC of {measure(audit.metrics['auroc'])}"
    if math.isnan(floor):
        return f"{said}; guessing has 0.5."
    return f"{said}; counting common neighbours has {measure(floor)}, guessing 0.5."


def _gauges(audit: LinkAudit) -> tuple[Gauge, ...]:
    """δCF of each intervention on its scale."""
    copying = _copying(audit)
    whose = {
        EVERYBODY: own_attribute(audit.names, "Everybody’s"),
        EITHER: own_attribute(audit.names, "One end’s"),
        BOTH: own_attribute(audit.names, "Both ends’"),
        OTHERS: own_attribute(audit.names, "Everybody else’s"),
    }
    return tuple(
        Gauge(f"{words} is another", *figure(audit, key), copying.get(key, math.nan))
        for key, words in whose.items()
        if not math.isnan(figure(audit, key)[0])
    )


def _affected(audit: LinkAudit) -> tuple[Affected, ...]:
    """The pairs of groups, the most affected first."""
    found = [
        Affected(
            cell_words(audit, cell.first, cell.second),
            cell.pairs,
            cell.delta_cf,
            f"{percent(cell.delta_cf)} of predictions change",
        )
        for cell in audit.cells
        if cell.first is not None and cell.second is not None and not math.isnan(cell.delta_cf)
    ]
    return tuple(sorted(found, key=lambda one: (-one.share, one.group)))


def cell_words(audit: LinkAudit, first: int | None, second: int | None) -> str:
    """Two groups in the words of the data; of arcs with their direction."""
    if first is None or second is None:
        return ""
    one, other = group_words(first, audit.names), group_words(second, audit.names)
    return f"{one} {'→' if audit.setup.directed else 'and'} {other}"


def two_groups(audit: LinkAudit) -> bool:
    """Whether the attribute has two groups."""
    codes = {cell.first for cell in audit.cells} - {None}
    return not audit.names.number and len(audit.names.groups or codes) == 2


# What the cards of measures say.
MEANINGS = {
    "accuracy": "Share of pairs whose prediction is right.",
    "auroc": "Chance that a linked pair scores above one that is not.",
    "average_precision": "How much of what it puts first is linked, over all thresholds.",
    "hits_at_k": "Share of linked pairs that score above the k-th best of the others.",
    EVERYBODY: "Share of predictions that change in worlds where everybody’s attribute is another.",
    EITHER: "The same where one of the two people is of another group, all others as they are.",
    BOTH: "The same where both are.",
    OTHERS: "The same where only the others’ attributes are redrawn.",
    "list_change": "Mean share of a list’s places that somebody else takes in those worlds.",
    "list_change_alone": "The same where only the person whose list it is is of another group.",
    "exposure_gap": "Largest gap of two groups’ places in lists, each as a multiple of its share "
    "of those who could be listed.",
    "gap_same_different": "Gap in how often a link is predicted within groups and between.",
    "gap_same_different_linked": "Gap in how often a link is predicted within groups and between, "
    "among pairs that are linked.",
    "gap_cells": "Largest gap between two pairs of groups in how often a link is predicted.",
    "gap_cells_linked": "Largest gap between two pairs of groups, among pairs that are linked.",
    "r2": "Share of the predictions’ variance that the attributes around both people explain.",
}
assert set(MEANINGS) <= {*LINK_METRICS}

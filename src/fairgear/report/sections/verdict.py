"""The verdict: what the model does, in the words of the data, and how sure that is.

It speaks of what was measured, answers that change in other worlds, and of nothing else: why they
change is for the reader, who sees the people, to judge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.metrics import UNDEFINED, Interval
from fairgear.metrics.disagreement import TOLERANCE
from fairgear.report.numbers import (
    answer_words,
    attribute_name,
    between,
    group_words,
    level_of,
    own_attribute,
    percent,
    plain,
)
from fairgear.report.sections.severity import LEVELS, severity
from fairgear.report.sections.would_change import would_change

_COLOURS = {
    "decides": "red",
    "strong": "red",
    "depends": "orange",
    "unsure": "grey",
    "few": "yellow",
    "none": "green",
    "unknown": "grey",
}
# Groups that the first screen shows.
_SHOWN = 5


@dataclass(frozen=True)
class Gauge:
    """One figure of the verdict, on a scale from nobody to everybody.

    Attributes:
        title: what it is a share of.
        value: the share; NaN where it was not measured.
        interval: of `value`.
        copying: what a model that copies the attribute has; NaN where that says nothing.
        constant: what a model has that gives everybody the same answer.
        low: least over the credible causal models; NaN where the figure is no range.
    """

    title: str
    value: float
    interval: Interval
    copying: float = math.nan
    constant: float = math.nan
    low: float = math.nan


@dataclass(frozen=True)
class Affected:
    """A group, and the share of its people who would get another answer."""

    group: str
    people: int
    share: float
    words: str


@dataclass(frozen=True)
class Verdict:
    """What a reader with one minute should learn.

    Attributes:
        level: one of `LEVELS`.
        title: what the model does, in a few words.
        figure: the share that the title rests on, in words; empty where there is none.
        sentences: the person's own value, everybody's, the bounds.
        accurate: how right the model is, and what the simplest models reach.
        gauges: the same figures on their scales.
        asked: what the shares of the affected groups are of.
        affected: the groups, the most affected first.
        more: how many further groups there are.
        would_change: what would change the verdict.
    """

    level: str
    title: str
    figure: str
    sentences: tuple[str, ...]
    accurate: str
    gauges: tuple[Gauge, ...]
    asked: str
    affected: tuple[Affected, ...]
    more: int
    would_change: tuple[str, ...]

    @property
    def colour(self) -> str:
        """Of the badge; the title says the same without it."""
        return _COLOURS[self.level]


def verdict(audit: Audit) -> Verdict:
    """The verdict of an audit."""
    level, title, figure = _judged(audit)
    groups = _affected(audit)
    return Verdict(
        level=level,
        title=title,
        figure=figure,
        sentences=_sentences(audit, figure),
        accurate=_accurate(audit),
        gauges=_gauges(audit),
        asked=_asked(audit),
        affected=groups[:_SHOWN],
        more=max(0, len(groups) - _SHOWN),
        would_change=would_change(audit),
    )


def _figure(audit: Audit, name: str) -> tuple[float, Interval]:
    return audit.metrics.get(name, math.nan), audit.intervals.get(name, UNDEFINED)


def _answers(audit: Audit) -> str:
    """What the model gives: answers, or numbers."""
    return "predictions" if audit.target.is_number else "answers"


def _change(audit: Audit) -> str:
    """To be another answer, or another number."""
    if audit.target.is_number:
        return f"change by more than {plain(TOLERANCE * audit.target.sd)}"
    return "change"


def _judged(audit: Audit) -> tuple[str, str, str]:
    """Level, title and figure: of the most severe of the own value, everybody's and the bounds."""
    name, answers = attribute_name(audit.names), _answers(audit)
    keys = ["delta_cf_self", "delta_cf", "delta_cf_max"]
    models = audit.causal_models
    if models is None or not models.credible:
        # Bounds over models that make impossible people are shown, but do not decide.
        keys.pop()
    figures = [_figure(audit, key) for key in keys]
    levels = [severity(*figure) for figure in figures]
    worst = min(levels, key=LEVELS.index)
    place = levels.index(worst)
    if worst == "unknown":
        return worst, f"Not known: whether {answers} change with {name}", ""
    known = [one for value, one in figures if not math.isnan(value)]
    highest = max(one.high if one.defined else 1.0 for one in known)
    if worst in ("unsure", "few", "none") and _same_for_all(audit):
        return "unsure", "Gives everybody the same answer", "nobody’s changed in any world"
    if worst == "none":
        return worst, f"No difference larger than {percent(highest)} could hide", ""
    ends = figures[place][1]
    figure = _said(audit, [share for share, _ in figures], place)
    words = {
        "decides": f"Decides by {name}",
        "strong": f"{answers.capitalize()} depend strongly on {name}",
        "depends": f"{answers.capitalize()} depend on {name}",
        "unsure": f"Too few people to tell whether {answers} depend on {name}",
        "few": f"Few {answers} depend on {name}",
    }
    if worst == "unsure" and ends.defined:
        figure += f" ({between(ends, percent)})"
    return worst, words[worst], figure


def _said(audit: Audit, shares: Sequence[float], place: int) -> str:
    """The share of their own value first, then the one that decides, if that is another."""
    answers, change, names = _answers(audit), _change(audit), audit.names
    own = own_attribute(names, "a person’s own")
    said = f"{percent(shares[0])} of {answers} {change} when {own} changes"
    if place == 0:
        return said
    where = " under another causal model" if place == 2 else ""
    if math.isnan(shares[0]):
        everybody = own_attribute(names, "everybody’s")
        return f"{percent(shares[place])} of {answers} {change}{where} when {everybody} changes"
    return f"{said}, {percent(shares[place])}{where} when everybody’s does"


def _same_for_all(audit: Audit) -> bool:
    """Whether everybody gets the same answer, and nobody another one in any world."""
    rates = {one.selection_rate for one in audit.groups if one.count}
    unmoved = all(row.rate == 0 for row in audit.flips)
    return audit.target.is_binary and unmoved and rates in ({0.0}, {1.0})


def _sentences(audit: Audit, told: str) -> tuple[str, ...]:
    """The figures behind the title; what it has `told` is not said twice."""
    name = own_attribute(audit.names, "a person’s own")
    own, everybody = _figure(audit, "delta_cf_self"), _figure(audit, "delta_cf")
    level, answers = f"{level_of(audit.setup.level)} % interval", _answers(audit)
    found = []
    if not math.isnan(own[0]):
        said = f"{percent(own[0])} of {answers} {_change(audit)} when {name} changes"
        found.append(
            f"That is with all that follows from it; {level} {_ends(own[1])}."
            if told.startswith(said)
            else f"{said}, with all that follows from it ({level} {_ends(own[1])})."
        )
    if not math.isnan(everybody[0]):
        found.append(
            f"{percent(everybody[0])} change on average when everybody’s is set alike or mixed "
            f"({_ends(everybody[1])}); many keep their own there."
            if not audit.names.number
            else f"{percent(everybody[0])} change on average when everybody’s is set to the same "
            f"value or mixed ({_ends(everybody[1])})."
        )
    if not found:
        return (
            f"What would change in other worlds was not measured, so nobody can say here what "
            f"would change with {attribute_name(audit.names)}. The tables by group compare people "
            "as they are.",
            *_impact(audit),
        )
    bounds = _bounds(audit)
    return (*found, *([bounds] if bounds else []))


def _ends(ends: Interval) -> str:
    return between(ends, percent) if ends.defined else "undefined"


def _impact(audit: Audit) -> tuple[str, ...]:
    """The lowest selection rate beside the highest, as people are."""
    rated = [one for one in audit.groups if one.count and not math.isnan(one.selection_rate)]
    if len(rated) < 2:
        return ()
    low, high = (pick(rated, key=lambda one: one.selection_rate) for pick in (min, max))
    if not high.selection_rate:
        return ()
    yes = answer_words(1, audit.names)
    rates = [
        f"{percent(one.selection_rate)} of {group_words(one.group, audit.names)}"
        for one in (high, low)
    ]
    share = percent(low.selection_rate / high.selection_rate)
    return (f"{rates[0]} get {yes}, and {rates[1]}: {share} of the highest rate.",)


def _bounds(audit: Audit) -> str:
    models = audit.causal_models
    if models is None or models.credible < 2:
        return ""
    ends = _ends(Interval(models.least.interval.low, models.largest.interval.high))
    least, largest = (percent(one.rate) for one in (models.least, models.largest))
    span = least if least == largest else f"from {least} to {largest}"
    return (
        f"Over {models.credible} credible causal models that is {span} ({ends} for all of them at "
        f"once); {percent(models.under_any)} change under at least one."
    )


def _accurate(audit: Audit) -> str:
    if audit.target.is_number:
        error, ends = _figure(audit, "mae")
        if math.isnan(error):
            return "How far the model is off is not known."
        return f"It is off by {plain(error)} on average ({between(ends, plain)})."
    value, ends = _figure(audit, "accuracy")
    if math.isnan(value):
        return "How often the model is right is not known: there are no labels."
    known = audit.references.get("accuracy")
    beside = ""
    if known is not None:
        beside = f"; the commoner answer for everybody is right about {percent(known.constant)}"
        if not math.isnan(known.copying):
            beside += (
                f", answering by {attribute_name(audit.names)} alone about {percent(known.copying)}"
            )
    return f"It is right about {percent(value)} of people ({between(ends, percent)}){beside}."


def _gauges(audit: Audit) -> tuple[Gauge, ...]:
    titles = {
        "delta_cf_self": f"Change with {own_attribute(audit.names, 'a person’s own')}",
        "delta_cf": f"Change with {own_attribute(audit.names, 'everybody’s')}",
    }
    found = [_gauge(audit, key, title) for key, title in titles.items()]
    models = audit.causal_models
    if models is not None and models.least.rate != models.largest.rate:
        which = "credible causal models" if models.credible else "causal models, none credible"
        gauge = _gauge(audit, "delta_cf_max", f"The same over {which}")
        low, high = models.least.interval, models.largest.interval
        ends = Interval(low.low, high.high) if low.defined and high.defined else UNDEFINED
        found.append(
            Gauge(gauge.title, gauge.value, ends, gauge.copying, gauge.constant, models.least.rate)
        )
    if not audit.target.is_number:
        found.append(_gauge(audit, "accuracy", "Right answers"))
    return tuple(one for one in found if not math.isnan(one.value))


def _gauge(audit: Audit, key: str, title: str) -> Gauge:
    known = audit.references.get(key)
    marks = (math.nan, math.nan) if known is None else (known.copying, known.constant)
    return Gauge(title, *_figure(audit, key), *marks)


def _asked(audit: Audit) -> str:
    """What the shares of the groups are of."""
    if "flip_strict_self" in audit.people:
        whose = own_attribute(audit.names, "their own")
        return f"People who would get another answer if {whose} were another"
    if any(not math.isnan(one.delta_cf) for one in audit.groups):
        return "Answers that change on average when everybody’s attribute does"
    return ""


def _affected(audit: Audit) -> tuple[Affected, ...]:
    """By group: of their own value where people are known, else of everybody's."""
    if "flip_strict_self" in audit.people:
        return tuple(sorted(_by_own_value(audit), key=lambda one: -one.share))
    found = [
        Affected(
            group_words(one.group, audit.names),
            one.count,
            one.delta_cf,
            f"{percent(one.delta_cf)} get another answer on average when everybody’s changes",
        )
        for one in audit.groups
        if one.count and not math.isnan(one.delta_cf)
    ]
    return tuple(sorted(found, key=lambda one: -one.share))


def _by_own_value(audit: Audit) -> list[Affected]:
    people = audit.people.dropna(subset=["flip_strict_self"])
    if "sens_known" in people:
        people = people[people["sens_known"]]
    column = "band" if "band" in people else "sens"
    found = []
    for group, members in people.groupby(column, sort=True):
        flips = members["flip_strict_self"].to_numpy()
        words = f"{percent(float(flips.mean()))} would get another answer"
        if audit.target.is_binary and flips.any():
            gained = float((flips * (members["label"] == 0)).mean())
            lost = float((flips * (members["label"] == 1)).mean())
            yes = answer_words(1, audit.names)
            words += f": {percent(gained)} would get {yes}, {percent(lost)} would lose it"
        found.append(
            Affected(
                group_words(int(str(group)), audit.names), len(members), float(flips.mean()), words
            )
        )
    return found

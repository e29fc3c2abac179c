"""The verdict: what the model does, in the words of the data, and how sure that is.

It speaks of what was measured, answers that change in other worlds, and of nothing else: why they
change is for the reader, who sees the people, to judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.auditing.family import FIXED, OWN
from fairgear.metrics import UNDEFINED, Interval
from fairgear.report.numbers import (
    answer_words,
    attribute_name,
    between,
    count,
    group_words,
    level_of,
    own_attribute,
    percent,
    plain,
)

# The share of answers from which a verdict is so severe; see docs/auditing.md.
DECIDES, STRONG, CLEAR, SMALL = 0.5, 0.10, 0.02, 0.05
# From the most to the least severe.
LEVELS = ("decides", "strong", "depends", "few", "unsure", "none", "unknown")
_COLOURS = {
    "decides": "red",
    "strong": "red",
    "depends": "orange",
    "few": "yellow",
    "none": "green",
    "unsure": "grey",
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
        title: a few words.
        sentences: the figures behind it: the person's own value, everybody's, the bounds.
        accurate: how right the model is, and what the simplest models reach.
        gauges: the same figures on their scales.
        affected: the groups, the most affected first.
        more: how many further groups there are.
        would_change: what would change the verdict.
    """

    level: str
    title: str
    sentences: tuple[str, ...]
    accurate: str
    gauges: tuple[Gauge, ...]
    affected: tuple[Affected, ...]
    more: int
    would_change: tuple[str, ...]

    @property
    def colour(self) -> str:
        """Of the badge; the title says the same without it."""
        return _COLOURS[self.level]


def verdict(audit: Audit) -> Verdict:
    """The verdict of an audit."""
    level, title = _judged(audit)
    groups = _affected(audit)
    return Verdict(
        level=level,
        title=title,
        sentences=_sentences(audit),
        accurate=_accurate(audit),
        gauges=_gauges(audit),
        affected=groups[:_SHOWN],
        more=max(0, len(groups) - _SHOWN),
        would_change=_would_change(audit),
    )


def severity(value: float, ends: Interval) -> str:
    """One of `LEVELS`, from a share of answers that change and its interval."""
    if math.isnan(value):
        return "unknown"
    low, high = ends if ends.defined else (0.0, 1.0)
    if value >= DECIDES:
        return "decides"
    if low > STRONG:
        return "strong"
    if low > CLEAR:
        return "depends"
    if value > 0:
        return "few"
    return "none" if high <= SMALL else "unsure"


def _figure(audit: Audit, name: str) -> tuple[float, Interval]:
    return audit.metrics.get(name, math.nan), audit.intervals.get(name, UNDEFINED)


def _judged(audit: Audit) -> tuple[str, str]:
    """The level and the title: of the most severe of the person's own value, all and bounds."""
    if len(audit.groups) and _same_for_all(audit):
        return "unsure", "Gives everybody the same answer"
    name = attribute_name(audit.names)
    figures = [_figure(audit, key) for key in ("delta_cf_self", "delta_cf", "delta_cf_max")]
    levels = [severity(*figure) for figure in figures]
    worst = min(levels, key=LEVELS.index)
    place = levels.index(worst)
    if worst == "unknown":
        return worst, f"Not known whether answers depend on {name}"
    if worst == "none":
        # The first that is known; the others are no more severe.
        highest = max(one.high for v, one in figures if not math.isnan(v) and one.defined)
        return worst, f"No difference larger than {percent(highest)} could hide"
    if worst == "unsure":
        high = max(one.high for v, one in figures if not math.isnan(v) and one.defined)
        return worst, f"Too few people to tell: up to {percent(high)} of answers could depend"
    everybody = own_attribute(audit.names, "everybody’s")
    whose = (name, everybody, f"{name}, under another causal model")[place]
    words = {
        "decides": f"Decides by {whose}",
        "strong": f"Answers depend strongly on {whose}",
        "depends": f"Answers depend on {whose}",
        "few": f"Few answers depend on {whose}",
    }
    return worst, words[worst]


def _same_for_all(audit: Audit) -> bool:
    return audit.target.is_binary and (
        {one.selection_rate for one in audit.groups if one.count} in ({0.0}, {1.0})
    )


def _sentences(audit: Audit) -> tuple[str, ...]:
    name = own_attribute(audit.names, "a person’s own")
    own, everybody = _figure(audit, "delta_cf_self"), _figure(audit, "delta_cf")
    level = f"{level_of(audit.setup.level)} % interval"
    found = []
    if not math.isnan(own[0]):
        found.append(
            f"{percent(own[0])} of answers change when {name} changes, with all that "
            f"follows from it ({level} {between(own[1], percent)})."
        )
    if not math.isnan(everybody[0]):
        found.append(
            f"{percent(everybody[0])} change on average when everybody’s does "
            f"({between(everybody[1], percent)})."
        )
    if not found:
        return (
            "Answers in other worlds were not measured, so nobody can say what would change with "
            f"{attribute_name(audit.names)}. The tables by group compare people as they are.",
        )
    bounds = _bounds(audit)
    return (*found, *([bounds] if bounds else []))


def _bounds(audit: Audit) -> str:
    models = audit.causal_models
    if models is None or not models.credible or models.least.rate == models.largest.rate:
        return ""
    return (
        f"Over {models.credible} credible causal models the latter is from "
        f"{percent(models.least.rate)} to {percent(models.largest.rate)}; "
        f"{percent(models.under_any)} change under at least one of them."
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


def _would_change(audit: Audit) -> tuple[str, ...]:
    """What the verdict depends on, each with the figure that it would have."""
    parts: tuple[Callable[[Audit], str], ...] = (_models, _held_out, _dose, _unknown, _few_people)
    return tuple(filter(None, (part(audit) for part in parts)))


def _models(audit: Audit) -> str:
    models = audit.causal_models
    if models is None:
        return ""
    if not models.credible:
        return (
            "No causal model that was tried makes people who could exist: read all figures on "
            "other worlds with caution."
        )
    if models.least.rate == models.largest.rate:
        return "" if models.credible > 1 else "No other credible causal model was there to compare."
    return (
        f"Another causal model: {percent(models.least.rate)} of answers change under "
        f"{_model(models.least.model)}, {percent(models.largest.rate)} under "
        f"{_model(models.largest.model)}, when everybody’s value changes."
    )


def _model(name: str) -> str:
    if name == OWN:
        return "this audit’s own"
    return f"this audit’s own{FIXED}" if name == OWN + FIXED else f"“{name}”"


def _held_out(audit: Audit) -> str:
    models = audit.causal_models
    rows = [] if models is None else [r for r in models.rows if not r.part and r.error is None]
    trained, held = ([r for r in rows if r.trained is kind] for kind in (True, False))
    if not trained or not held:
        return ""
    worst = max(held, key=lambda row: row.rate)
    return (
        "It was trained to answer alike under some of these models; of those held out, "
        f"{_model(worst.model)} finds most changes, {percent(worst.rate)}."
    )


def _dose(audit: Audit) -> str:
    if audit.dose is None or len(audit.dose.points) < 2:
        return ""
    points, name = audit.dose.points, attribute_name(audit.names)
    none = points[0]
    middle = min(points, key=lambda point: abs(point.share - 0.5))
    return (
        f"How much {name} causes: if it caused half of the difference between "
        f"{'people' if audit.names.number else 'the groups'}, {percent(middle.rate)} would change; "
        f"if nothing but its own column, {percent(none.rate)}."
    )


def _unknown(audit: Audit) -> str:
    if audit.unknown is None or not audit.unknown.audited.unknown:
        return ""
    one = audit.unknown.audited
    return (
        f"Who the {count(one.unknown)} of {count(one.people)} audited people are of whom "
        f"{attribute_name(audit.names)} is unknown: it was guessed."
    )


def _few_people(audit: Audit) -> str:
    value, ends = _figure(audit, "delta_cf_self")
    if math.isnan(value) or not ends.defined:
        return ""
    # Both ends of the interval would be judged alike: more people change nothing.
    if severity(ends.low, Interval(ends.low, ends.low)) == severity(
        ends.high, Interval(ends.high, ends.high)
    ):
        return ""
    return (
        f"More people: with {count(audit.setup.self_people)} asked, the first figure could be "
        f"anywhere from {between(ends, percent)}."
    )

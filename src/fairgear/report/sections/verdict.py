"""The verdict: what the model does, in the words of the data, and how sure that is.

It speaks of what was measured, answers that change in other worlds, and of nothing else: why they
change is for the reader, who sees the people, to judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing import Audit
from fairgear.auditing.family import FIXED, OWN
from fairgear.auditing.groups import large_groups, reference_group
from fairgear.metrics import UNDEFINED, Interval
from fairgear.metrics.disagreement import TOLERANCE
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
from fairgear.report.sections.severity import (
    EVERYBODY,
    LARGEST,
    SELF,
    deciding,
    figure,
    judged,
)
from fairgear.report.sections.would_change import would_change

COLOURS = {
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
        return COLOURS[self.level]


def verdict(audit: Audit) -> Verdict:
    """The verdict of an audit."""
    level, title, told = _judged(audit)
    groups = _affected(audit)
    return Verdict(
        level=level,
        title=title,
        figure=told,
        sentences=_sentences(audit, told),
        accurate=_accurate(audit),
        gauges=_gauges(audit),
        asked=_asked(audit),
        affected=groups[:_SHOWN],
        more=max(0, len(groups) - _SHOWN),
        would_change=would_change(audit),
    )


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
    figures = deciding(audit)
    level, key = judged(audit, figures)
    if level == "unknown":
        return level, f"Not known: whether {answers} change with {name}", ""
    if level in ("unsure", "few", "none") and _same_for_all(audit):
        return "unsure", "Gives everybody the same answer", "nobody’s changed in any world"
    asked = not math.isnan(figures[SELF][0])
    everybody = own_attribute(audit.names, "everybody’s")
    if level == "none":
        known = [ends for value, ends in figures.values() if not math.isnan(value)]
        most = percent(max(ends.high if ends.defined else 1.0 for ends in known))
        if asked:
            return level, f"No difference larger than {most} could hide", ""
        could = f"No more than {most} of {answers} could {_change(audit)} with {everybody}"
        return level, could, ""
    few = f"depend on {name}" if asked else f"change with {everybody}"
    words = {
        "decides": f"Decides by {name}",
        "strong": f"{answers.capitalize()} depend strongly on {name}",
        "depends": f"{answers.capitalize()} depend on {name}",
        "unsure": f"Too few people to tell whether {answers} depend on {name}",
        "few": f"Few {answers} {few}",
    }
    told = _said(audit, key)
    if level == "unsure" and key == SELF and figures[key][1].defined:
        told += f" ({between(figures[key][1], percent)})"
    return level, words[level], told


def _said(audit: Audit, key: str) -> str:
    """The share of their own value first, then the one that decides, if that is another."""
    answers, change, names = _answers(audit), _change(audit), audit.names
    alone, (share, ends) = figure(audit, SELF)[0], figure(audit, key)
    own = own_attribute(names, "a person’s own")
    said = f"{percent(alone)} of {answers} {change} when {own} changes"
    if key == SELF:
        return said
    where, of = _which_model(audit, key)
    sure = f" ({between(ends, percent)}{of})" if ends.defined else ""
    if math.isnan(alone):
        everybody = own_attribute(names, "everybody’s")
        return f"{percent(share)}{sure} of {answers} {change}{where} when {everybody} changes"
    return f"{said}, {percent(share)}{sure}{where} when everybody’s does"


def _which_model(audit: Audit, key: str) -> tuple[str, str]:
    """Under which causal model a share of everybody's is, and what its interval is, if special."""
    models = audit.causal_models
    if key != LARGEST or models is None:
        return "", ""
    if models.largest.model == OWN:
        return "", ", the interval for all causal models at once"
    if models.largest.model == OWN + FIXED:
        return " under this audit’s own causal model with links fixed", ""
    return " under another causal model", ""


def _same_for_all(audit: Audit) -> bool:
    """Whether everybody gets the same answer, and nobody another one in any world."""
    rates = {one.selection_rate for one in audit.groups if one.count}
    unmoved = all(row.rate == 0 for row in audit.flips)
    return audit.target.is_binary and unmoved and rates in ({0.0}, {1.0})


def _sentences(audit: Audit, told: str) -> tuple[str, ...]:
    """The figures behind the title; what it has `told` is not said twice."""
    name = own_attribute(audit.names, "a person’s own")
    own, everybody = figure(audit, SELF), figure(audit, EVERYBODY)
    level, answers = f"{level_of(audit.setup.level)} % interval", _answers(audit)
    found = []
    if not math.isnan(own[0]):
        said = f"{percent(own[0])} of {answers} {_change(audit)} when {name} changes"
        if told.startswith(f"{said},"):
            # Another share stands last in the title.
            found.append(
                f"The {percent(own[0])} is with all that follows from {name} ({level} "
                f"{_ends(own[1])})."
            )
        elif told.startswith(said):
            found.append(f"That is with all that follows from it; {level} {_ends(own[1])}.")
        else:
            found.append(f"{said}, with all that follows from it ({level} {_ends(own[1])}).")
    if not math.isnan(everybody[0]):
        whose, ends, missing = "everybody’s", _ends(everybody[1]), ""
        if not found:
            # No sentence before this one names the attribute and the interval.
            whose, ends = own_attribute(audit.names, whose), f"{level} {ends}"
            missing = f"What happens when {name} changes was not measured."
        share = f"{percent(everybody[0])} change on average when {whose} is set"
        how, kept = "alike", "; many keep their own there"
        if audit.names.number:
            how, kept = "to the same value", ""
        found.append(f"{share} {how} or mixed ({ends}){kept}.")
        found += [missing] if missing else []
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
    """The lowest selection rate beside the highest, as people are; small groups aside."""
    large, highest = large_groups(audit.groups), reference_group(audit.groups)
    if highest is None or len(large) < 2:
        return ()
    kind = "ranges" if audit.names.number else "groups"
    whole = len(large) == sum(one.count > 0 for one in audit.groups)
    others = "" if whole else f" Smaller {kind} are in the table."
    lowest, yes = min(large, key=lambda one: one.impact_ratio), answer_words(1, audit.names)
    if lowest.impact_ratio == 1:
        these = f"All {'' if whole else 'larger '}{kind}"
        return (f"{these} get {yes} equally often: {percent(highest.selection_rate)}.{others}",)
    rates = [
        f"{percent(one.selection_rate)} ({count(one.selected)} of {count(one.count)}) of "
        f"{group_words(one.group, audit.names)}"
        for one in (highest, lowest)
    ]
    share = percent(lowest.impact_ratio)
    ends = _ends(lowest.intervals.get("impact_ratio", UNDEFINED))
    return (
        f"{rates[0]} get {yes}, and {rates[1]}: {share} of the highest rate "
        f"({level_of(audit.setup.level)} % interval {ends}).{others}",
    )


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
        error, ends = figure(audit, "mae")
        if math.isnan(error):
            return "How far the model is off is not known."
        return f"It is off by {plain(error)} on average ({between(ends, plain)})."
    value, ends = figure(audit, "accuracy")
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
    return Gauge(title, *figure(audit, key), *marks)


def _by_everybodys(audit: Audit) -> bool:
    """Whether groups are shown by everybody's value: where that decides, or nobody was asked."""
    if "flip_strict_self" not in audit.people:
        return True
    measured = any(not math.isnan(one.delta_cf) for one in audit.groups)
    return measured and judged(audit, deciding(audit))[1] != SELF


def _asked(audit: Audit) -> str:
    """What the shares of the groups are of."""
    if not _by_everybodys(audit):
        whose = own_attribute(audit.names, "their own")
        return f"People who would get another answer if {whose} were another"
    if any(not math.isnan(one.delta_cf) for one in audit.groups):
        whose = own_attribute(audit.names, "everybody’s")
        key = judged(audit, deciding(audit))[1]
        other = _which_model(audit, key)[0]
        # The worlds of other causal models are not kept by group.
        own = ", under this audit’s own causal model" if other else ""
        return f"{_answers(audit).capitalize()} that change on average when {whose} does{own}"
    return ""


def _affected(audit: Audit) -> tuple[Affected, ...]:
    """By group: of everybody's value where that decides, else of their own."""
    if not _by_everybodys(audit):
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
        words = f"{percent(float(flips.mean()))}{_counted(flips)} would get another answer"
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


def _counted(flips: NDArray[np.float64]) -> str:
    """How many of how many; nothing where a person's answer changes in some worlds only."""
    if not np.isin(flips, (0, 1)).all():
        return ""
    return f" ({count(flips.sum())} of {count(len(flips))})"

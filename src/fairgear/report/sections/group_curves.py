"""Scores by group as small charts: their distribution, ROC and calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing import Audit
from fairgear.graph.targets import is_known
from fairgear.metrics import UNDEFINED
from fairgear.metrics.inputs import Floats
from fairgear.metrics.score_curves import (
    PARTS,
    Calibration,
    Histogram,
    Roc,
    calibration,
    histogram,
    histogram_range,
    roc,
)
from fairgear.report.charts import Scale, Tick
from fairgear.report.numbers import between, count, group_words, measure, percent, plain

# A curve of fewer people would say little about the group, and much about them.
FEWEST = 10
# Charts that are shown at once; the others are folded.
SHOWN = 12
_UNIT = Scale(0.0, 1.0, 0.5)
_ENDS = (Tick(0.0, "0"), Tick(50.0, "0.5"), Tick(100.0, "1"))


@dataclass(frozen=True)
class Panel:
    """One small chart, in hundredths of its width and height from its lower left corner.

    Attributes:
        title: the group.
        caption: what to know of it in a line.
        summary: the chart in words, for readers who cannot see it.
        area: a filled outline; empty where there is none.
        line: of the group.
        others: the same of everybody.
        dots: places on the line, such as the threshold's.
        rule: a line from top to bottom, such as at the threshold.
    """

    title: str
    caption: str
    summary: str
    area: str = ""
    line: str = ""
    others: str = ""
    dots: tuple[tuple[float, float], ...] = ()
    rule: float | None = None


@dataclass(frozen=True)
class Panels:
    """The same chart for each group.

    Attributes:
        name: which chart.
        about: how to read it.
        panels: one for each group.
        few: of the groups with too few people for a chart, names and counts.
        ticks: of the x axis.
        diagonal: whether the line from corner to corner is drawn.
        missing: why there is no chart; empty where there are some.
    """

    name: str
    about: str
    panels: tuple[Panel, ...] = ()
    few: tuple[str, ...] = ()
    ticks: tuple[Tick, ...] = _ENDS
    diagonal: bool = True
    missing: str = ""

    @property
    def shown(self) -> tuple[Panel, ...]:
        """Those that are not folded."""
        return self.panels[:SHOWN]

    @property
    def folded(self) -> tuple[Panel, ...]:
        """The others."""
        return self.panels[SHOWN:]


@dataclass(frozen=True)
class GroupCurves:
    """The charts; `missing` says why there are none."""

    charts: tuple[Panels, ...]
    missing: str = ""


@dataclass(frozen=True)
class _Group:
    """The people of one group in the table of people."""

    number: int
    name: str
    member: NDArray[np.bool_]


def group_curves(audit: Audit) -> GroupCurves:
    """The charts of an audit."""
    people = audit.people
    if people.empty:
        return GroupCurves((), "Scores are not drawn: this page was made without the people.")
    groups = _groups(audit)
    if audit.target.is_number:
        predictions = people["label"].to_numpy(dtype=np.float64)
        residuals = people["y"].to_numpy(dtype=np.float64) - predictions
        return GroupCurves(
            (
                _distribution(groups, predictions, "predictions"),
                _distribution(groups, residuals, "residuals", "Label less prediction. "),
            )
        )
    scores = people["score"].to_numpy(dtype=np.float64)
    if not audit.target.is_binary:
        about = "The score of the answer that each person gets: how sure the model is. "
        drawn = _distribution(groups, scores, "scores", about)
        missing = "Of several answers, people’s scores are kept for the one that they get only."
        return GroupCurves(
            (drawn, Panels("ROC", "", missing=missing), _calibration(audit, groups, scores))
        )
    threshold = audit.model.threshold
    about = f"The dotted line is the threshold, {plain(threshold)}. "
    return GroupCurves(
        (
            _distribution(groups, scores, "scores", about, threshold),
            _roc(audit, groups, scores),
            _calibration(audit, groups, scores),
        )
    )


def _groups(audit: Audit) -> list[_Group]:
    """Everybody whose attribute is known, by group."""
    people = audit.people
    codes = people["band" if "band" in people else "sens"].to_numpy()
    known = np.ones(len(people), dtype=np.bool_)
    if "sens_known" in people:
        known = people["sens_known"].to_numpy(dtype=np.bool_)
    return [
        _Group(one.group, group_words(one.group, audit.names), (codes == one.group) & known)
        for one in audit.groups
    ]


def _split(groups: Sequence[_Group], counted: NDArray[np.bool_]) -> tuple[list[_Group], list[str]]:
    """The groups that have a chart, and the others with the number of people who count in it."""
    of = [(one, int((one.member & counted).sum())) for one in groups]
    few = [f"{one.name} ({count(people)})" for one, people in of if people < FEWEST]
    return [one for one, people in of if people >= FEWEST], few


def _distribution(
    groups: Sequence[_Group],
    values: Floats,
    what: str,
    about: str = "",
    threshold: float = math.nan,
) -> Panels:
    """A histogram for each group; residuals of people without a label do not count."""
    name, known = f"How {what} are distributed", ~np.isnan(values)
    if not known.any():
        return Panels(name, "", missing=f"There are no labels, so no {what}.")
    low, high = histogram_range(values[known])
    everybody = histogram(values[known], low, high)
    drawn, few = _split(groups, known)
    found = [(one, values[one.member & known]) for one in drawn]
    shares = [histogram(of, low, high) for _, of in found]
    x = Scale(low, high, high - low)
    panels = tuple(
        Panel(
            title=one.name,
            caption=f"{count(len(of))} people, median {plain(float(np.median(of)))}",
            summary=_spread(one.name, what, of),
            area=_steps(own, _top(own, everybody), closed=True),
            others=_steps(everybody, _top(own, everybody)),
            rule=None if math.isnan(threshold) else x.at(threshold),
        )
        for (one, of), own in zip(found, shares, strict=True)
    )
    inside = (low, high) == (0.0, 1.0)
    outer = "" if inside else "The outermost 1 % are drawn at the ends. "
    about = (
        f"Shares of people in {PARTS} equal parts of the scale. {about}{outer}Grey line: everybody."
    )
    ends = (Tick(0.0, plain(low)), Tick(100.0, plain(high)))
    return Panels(name, about, panels, tuple(few), _ENDS if inside else ends, diagonal=False)


def _top(*histograms: Histogram) -> float:
    return max(max(one.shares) for one in histograms)


def _steps(of: Histogram, top: float, *, closed: bool = False) -> str:
    """The outline of a histogram, as points of a polyline or of a polygon."""
    width = 100 / PARTS
    points = [
        (place * width, 100 - 100 * share / top)
        for at, share in enumerate(of.shares)
        for place in (at, at + 1)
    ]
    return _points([(0.0, 100.0), *points, (100.0, 100.0)] if closed else points)


def _points(points: Sequence[tuple[float, float]]) -> str:
    # Rounded so that the page is small and the same on every machine.
    return " ".join(f"{round(x, 1):g},{round(y, 1):g}" for x, y in points)


def _spread(name: str, what: str, of: Floats) -> str:
    low, middle, high = (plain(float(end)) for end in np.quantile(of, [0.25, 0.5, 0.75]))
    return f"{name}: half of the {what} are from {low} to {high}, the median is {middle}."


def _roc(audit: Audit, groups: Sequence[_Group], scores: Floats) -> Panels:
    y, labels = (audit.people[key].to_numpy() for key in ("y", "label"))
    known = is_known(y)
    everybody = roc(y[known], scores[known])
    if everybody is None:
        return Panels("ROC", "", missing="Too few labels are known for ROC curves.")
    drawn, few = _split(groups, known)
    panels = []
    for one in drawn:
        among = one.member & known
        curve = roc(y[among], scores[among])
        if curve is None:
            few.append(f"{one.name} (labels of one class)")
            continue
        # Where the threshold lies on the curve.
        false, true = (float((labels[among] == 1)[y[among] == of].mean()) for of in (0, 1))
        panels.append(_roc_panel(audit, one, curve, everybody, (false, true)))
    about = (
        "Of those with each label, how many are above each threshold: across those of class 0, "
        "upwards those of class 1. The dot is this model’s threshold. Curves of groups that lie "
        "apart are ranked unequally well; dots that lie apart on like curves mean unequal error "
        "rates at this threshold. Grey line: everybody; dotted: chance."
    )
    return Panels("ROC", about, tuple(panels), tuple(few))


def _roc_panel(
    audit: Audit, one: _Group, curve: Roc, everybody: Roc, at: tuple[float, float]
) -> Panel:
    (group,) = (row for row in audit.groups if row.group == one.number)
    ends = group.intervals.get("auroc", UNDEFINED)
    caption = f"AUROC {measure(group.auroc)} ({between(ends)})"
    return Panel(
        title=one.name,
        caption=caption,
        summary=f"{one.name}: {caption}; at the threshold {percent(at[1])} of class 1 and "
        f"{percent(at[0])} of class 0 are above it.",
        line=_curve(curve),
        others=_curve(everybody),
        dots=((_UNIT.at(at[0]), _UNIT.at(at[1])),),
    )


def _curve(of: Roc) -> str:
    both = zip(of.false_positives, of.true_positives, strict=True)
    return _points([(100 * x, 100 - 100 * y) for x, y in both])


def _calibration(audit: Audit, groups: Sequence[_Group], scores: Floats) -> Panels:
    """How often scores come true; of several answers, how often the answer is right."""
    y, labels = (audit.people[key].to_numpy() for key in ("y", "label"))
    known, binary = is_known(y), audit.target.is_binary
    if scores.min() < 0 or scores.max() > 1:
        missing = "Scores go beyond 0 and 1: they are no probabilities, so nothing can come true."
        return Panels("Calibration", "", missing=missing)
    if not known.any():
        return Panels("Calibration", "", missing="No label is known.")
    hits = (y == 1 if binary else labels == y).astype(np.int64)
    drawn, few = _split(groups, known)
    everybody = _bins(calibration(hits[known], scores[known]))
    panels = []
    for one in drawn:
        among = one.member & known
        found = calibration(hits[among], scores[among])
        caption = f"{measure(found.error)} apart on average"
        panels.append(
            Panel(
                title=one.name,
                caption=caption,
                summary=f"{one.name}: scores and shares are {caption}.",
                line=_points([(x, 100 - y) for x, y in _bins(found)]),
                others=_points([(x, 100 - y) for x, y in everybody]),
                dots=_bins(found),
            )
        )
    truth = "have the label that scores are of" if binary else "get a right answer"
    about = (
        "People of each group in up to ten parts of equal size, by score: across their mean score, "
        f"upwards the share who {truth}. Below the dotted line scores are too high, above it too "
        "low; the distance, over people, is the expected calibration error, which chance alone "
        "raises in small groups. Grey line: everybody."
    )
    return Panels("Calibration", about, tuple(panels), tuple(few))


def _bins(of: Calibration) -> tuple[tuple[float, float], ...]:
    return tuple((_UNIT.at(x), _UNIT.at(y)) for x, y in zip(of.scores, of.shares, strict=True))

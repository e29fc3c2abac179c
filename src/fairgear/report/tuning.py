"""The page of a search: every trial by utility and worst flips, the front, and the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from markupsafe import Markup

from fairgear.files import write_text
from fairgear.report.charts import Scale, Tick, nice
from fairgear.report.numbers import percent
from fairgear.report.page import environment, source

# The room of a name on the chart, in hundredths.
_NAME_WIDTH, _NAME_HEIGHT = 30.0, 4.5


@dataclass(frozen=True)
class Point:
    """What was tried, and what was found.

    Attributes:
        name: default, a floor, or the number of a trial.
        kind: default, floor or trial.
        utility: AUROC, or R² of the prediction.
        flips: the largest δCF of the causal models.
        model: the causal model that it is under.
        settings: what the trial changed, in words.
        on_front: whether no other beats it in both figures.
        chosen: whether the rule chose it.
    """

    name: str
    kind: str
    utility: float
    flips: float
    model: str
    settings: str
    on_front: bool = False
    chosen: bool = False


@dataclass(frozen=True)
class TuningPage:
    """What the page shows.

    Attributes:
        dataset, method: what was searched.
        utility: what the utility is called.
        people: how many judged.
        rule: how the choice was made, in words.
        command: runs what was chosen.
        warning: how to read the figures.
        better_floors: methods without a graph that are at least as good in both figures.
        quick: whether few steps were trained.
        points: all that was tried.
    """

    dataset: str
    method: str
    utility: str
    people: int
    rule: str
    command: str
    warning: str
    better_floors: tuple[str, ...]
    quick: bool
    points: tuple[Point, ...]

    @property
    def front(self) -> list[Point]:
        """By utility, the best first."""
        found = [one for one in self.points if one.on_front]
        return sorted(found, key=lambda one: -one.utility)

    @property
    def chosen(self) -> Point:
        """What the rule chose."""
        return next(one for one in self.points if one.chosen)


@dataclass(frozen=True)
class _Mark:
    """A point on the chart, in hundredths."""

    point: Point
    left: float
    bottom: float
    label: float | None = None
    """How high its name stands, if it has one on the chart."""
    flipped: bool = False
    """Whether the name stands on the left."""


@dataclass(frozen=True)
class _Chart:
    marks: tuple[_Mark, ...]
    front: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def write_tuning_page(page: TuningPage, path: Path) -> None:
    """Write the page in one step."""
    write_text(path, render_tuning(page))


def render_tuning(page: TuningPage) -> str:
    """The HTML; it requests nothing over the network and needs no script."""
    style = "\n".join(map(source, ("page.css", "tuning.css")))
    template = environment().get_template("tuning.html.j2")
    return template.render(page=page, chart=_chart(page), style=Markup(style))


def _chart(page: TuningPage) -> _Chart:
    x = nice([one.flips for one in page.points], zero=True)
    y = nice([one.utility for one in page.points])
    marks = tuple(
        _labelled([_Mark(one, x.at(one.flips), y.at(one.utility)) for one in page.points])
    )
    shares = tuple(Tick(tick.at, percent(value)) for tick, value in _values(x))
    return _Chart(marks, _steps(page.front, x, y), shares, y.ticks())


def _labelled(marks: Sequence[_Mark]) -> Iterator[_Mark]:
    """The marks in the order in which they are drawn, with names for those that are no trial.

    A name stands on the side away from the crowd where there is room, and covers no other.
    """
    middle = median(one.left for one in marks)
    placed: list[_Mark] = []
    for mark in sorted(marks, key=lambda one: (one.point.chosen, one.point.on_front, one.bottom)):
        if mark.point.kind == "trial":
            yield mark
            continue
        height = mark.bottom
        for other in sorted(placed, key=lambda one: one.label or 0):
            if other.label is not None and abs(other.left - mark.left) < _NAME_WIDTH:
                height = max(height, other.label + _NAME_HEIGHT)
        room = mark.left > 100 - _NAME_WIDTH, mark.left > _NAME_WIDTH
        flipped = room[0] or (room[1] and mark.left < middle)
        placed.append(replace(mark, label=height, flipped=flipped))
    yield from placed


def _values(scale: Scale) -> list[tuple[Tick, float]]:
    return [(tick, scale.low + at * scale.step) for at, tick in enumerate(scale.ticks())]


def _steps(front: Sequence[Point], x: Scale, y: Scale) -> str:
    """The line that no candidate is above and left of."""
    corners: list[str] = []
    height: float | None = None
    for one in sorted(front, key=lambda one: one.flips):
        left, bottom = x.at(one.flips), y.at(one.utility)
        if height is not None:
            corners.append(f"{left},{100 - height:g}")
        corners.append(f"{left},{100 - bottom:g}")
        height = bottom
    if height is not None:
        corners.append(f"100,{100 - height:g}")
    return " ".join(corners)

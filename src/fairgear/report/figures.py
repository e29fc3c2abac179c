"""Figures as plain data, in hundredths of their width and height; the template draws them.

They are drawn as HTML and SVG rather than by a chart library: the page stays small, follows light
and dark by itself, prints, and shows everything but the hovering without a script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairgear.report.numbers import between, measure, plain
from fairgear.report.parts import Part, number
from fairgear.report.scales import Scale, Tick, decades, nice


@dataclass(frozen=True)
class Range:
    """A value with its interval on an axis; `reference` is what to hold it against."""

    at: float | None
    low: float | None
    high: float | None
    reference: float | None = None


@dataclass(frozen=True)
class Dot:
    """One row of an interval chart; `facts` are shown on hovering."""

    label: str
    kind: str
    range: Range
    value: str
    interval: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class IntervalChart:
    """Rows of dots with their intervals on one axis."""

    title: str
    ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    zero: float | None = None
    """Where 0 lies, if the rows are to be held against it."""


@dataclass(frozen=True)
class Line:
    """One series: its polylines, broken where a value is missing."""

    name: str
    kind: str
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class LineChart:
    """Series over training steps."""

    title: str
    caption: str
    summary: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    best: Tick | None
    log: bool
    data: str
    """JSON of every point, for the script that shows values on hovering."""


def ranged(
    scale: Scale,
    value: float | None,
    ends: tuple[float, float] | None,
    reference: float | None = None,
) -> Range:
    """A value and its interval placed on a scale."""
    return Range(
        at=None if value is None else scale.at(value),
        low=None if ends is None else scale.at(ends[0]),
        high=None if ends is None else scale.at(ends[1]),
        reference=None if reference is None else scale.at(reference),
    )


def dot(
    scale: Scale,
    label: str,
    kind: str,
    value: float | None,
    ends: tuple[float, float] | None,
    facts: Sequence[tuple[str, str]] = (),
    written: Callable[[float | None], str] = measure,
) -> Dot:
    """A row of an interval chart, with its value as `written` writes it."""
    return Dot(label, kind, ranged(scale, value, ends), written(value), between(ends), tuple(facts))


def scale_over(
    shown: Sequence[tuple[float | None, tuple[float, float] | None]],
    *,
    from_zero: bool = True,
) -> Scale:
    """One scale for all these values and intervals, 0 among them: what looks alike means alike.

    Args:
        shown: values with their intervals.
        from_zero: whether it begins at 0 or, for differences, goes below it where they do.
    """
    known = [value for value, _ in shown if value is not None]
    known += [end for _, ends in shown if ends is not None for end in ends]
    if from_zero:
        return nice(known or [1.0], zero=True)
    return nice([0.0, *known] if known else [-1.0, 1.0])


def line_chart(
    term: str,
    series: Sequence[tuple[str, Sequence[Part]]],
    *,
    title: str = "",
    caption: str = "",
    best_step: float | None = None,
    zero: bool = False,
) -> LineChart | None:
    """`term` over steps in each named list of rows; None where nobody has a value for it."""
    points = {name: _points(rows, term) for name, rows in series}
    points = {name: found for name, found in points.items() if any(y is not None for _, y in found)}
    values = [y for found in points.values() for _, y in found if y is not None]
    if not values:
        return None
    # A loss that falls a hundredfold would be a flat line but for its first steps.
    log = not zero and min(values) > 0 and max(values) / min(values) > 100
    y = decades(values) if log else nice(values, zero=zero)
    last = max(x for found in points.values() for x, _ in found)
    x = Scale(0.0, max(last, 1.0), 1.0)
    placed = [
        {"name": name, "at": [_placed(point, x, y) for point in _known(found)]}
        for name, found in points.items()
    ]
    return LineChart(
        title=title or term.replace("_", " "),
        caption=caption,
        summary=_summary(term, points),
        lines=tuple(Line(name, name, _pieces(found, x, y)) for name, found in points.items()),
        x_ticks=(Tick(0.0, "0"), Tick(100.0, f"step {plain(int(last))}")),
        y_ticks=y.ticks(),
        best=None if best_step is None else Tick(x.at(best_step), plain(int(best_step))),
        log=log,
        data=json.dumps(placed, ensure_ascii=True, separators=(",", ":")),
    )


_Points = list[tuple[float, float | None]]


def _points(rows: Sequence[Part], term: str) -> _Points:
    found = [(number(row, "step"), number(row, term)) for row in rows if term in row]
    return sorted(((x, y) for x, y in found if x is not None), key=lambda point: point[0])


def _placed(point: tuple[float, float], x: Scale, y: Scale) -> list[float | str]:
    step, value = point
    return [x.at(step), y.at(value), plain(int(step)), plain(value)]


def _known(points: _Points) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if y is not None]


def _pieces(points: _Points, x: Scale, y: Scale) -> tuple[str, ...]:
    pieces: list[list[str]] = [[]]
    for step, value in points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{x.at(step):g},{round(100 - y.at(value), 2):g}")
    return tuple(" ".join(piece) for piece in pieces if piece)


def _summary(term: str, points: dict[str, _Points]) -> str:
    """What a reader who cannot see the chart should know."""
    sentences = []
    for name, found in points.items():
        (first, begin), (last, end) = _known(found)[0], _known(found)[-1]
        sentences.append(
            f"{term.replace('_', ' ')}, {name}: {plain(begin)} at step {plain(int(first))}, "
            f"{plain(end)} at step {plain(int(last))}."
        )
    return " ".join(sentences)

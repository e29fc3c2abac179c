"""Charts as plain data, in hundredths of their width and height; the templates draw them.

They are HTML and SVG rather than a chart library's: the page stays small, follows light and dark
by itself, prints, and needs no script except for hovering.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairgear.metrics import UNDEFINED, Interval
from fairgear.report.numbers import between, measure, plain


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    step: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where `value` lies, 0 to 100; values off the axis lie at its end."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        share = (value - low) / (high - low)
        # Rounded so that the page is the same on every machine.
        return round(100 * min(1.0, max(0.0, share)), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """The labelled places."""
        if self.log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            stride = max(1, (last - first) // 3)
            powers = [10.0**power for power in range(first, last + 1, stride)]
            return tuple(Tick(self.at(value), f"{value:g}") for value in powers)
        number = round((self.high - self.low) / self.step)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        digits += not math.isclose(self.step * 10**digits, round(self.step * 10**digits))
        values = [self.low + index * self.step for index in range(number + 1)]
        return tuple(
            Tick(self.at(value), f"{value:,.{digits}f}".replace("-", "−")) for value in values
        )


def nice(values: Sequence[float], *, zero: bool = False, parts: int = 4) -> Scale:
    """A linear scale over `values` whose ticks are round numbers; with `zero` it begins at 0."""
    low = 0.0 if zero else min(values, default=0.0)
    high = max(values, default=1.0)
    if high - low < 1e-9:
        # Nothing varies: leave room on both sides, or only above where the axis begins at 0.
        room = max(abs(high) * 0.1, 1e-9) if high else 0.01
        low, high = (low, high + room) if zero else (low - room, high + room)
    step = _round_step((high - low) / parts)
    return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)


def decades(values: Sequence[float]) -> Scale:
    """A logarithmic scale over positive `values`, between powers of ten."""
    first = math.floor(math.log10(min(values)))
    last = max(first + 1, math.ceil(math.log10(max(values))))
    return Scale(10.0**first, 10.0**last, 1.0, log=True)


def scale_over(shown: Sequence[tuple[float, Interval]], *, from_zero: bool = True) -> Scale:
    """One scale for all these values and intervals, 0 among them, so that they can be compared.

    Args:
        shown: values with their intervals.
        from_zero: whether it begins at 0 or, for differences, may go below it.
    """
    known = [value for value, _ in shown if math.isfinite(value)]
    known += [end for _, ends in shown if ends.defined for end in ends]
    if from_zero:
        return nice(known or [1.0], zero=True)
    return nice([0.0, *known] if known else [-1.0, 1.0])


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * (1 - 1e-9))


@dataclass(frozen=True)
class Range:
    """A value with its interval on an axis; `reference` is something to compare it with."""

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
    """Rows of dots with their intervals on one axis; `zero` marks 0 where that matters."""

    title: str
    ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    zero: float | None = None


@dataclass(frozen=True)
class Line:
    """One series: its polylines, broken where a value is missing."""

    name: str
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class LineChart:
    """Series over training steps; `data` is JSON of every point, for the script that hovers."""

    title: str
    caption: str
    summary: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    best: Tick | None
    log: bool
    data: str


def ranged(
    scale: Scale, value: float, ends: Interval = UNDEFINED, reference: float | None = None
) -> Range:
    """A value and its interval placed on a scale."""
    return Range(
        at=scale.at(value) if math.isfinite(value) else None,
        low=scale.at(ends.low) if ends.defined else None,
        high=scale.at(ends.high) if ends.defined else None,
        reference=None if reference is None else scale.at(reference),
    )


def dot(
    scale: Scale,
    label: str,
    kind: str,
    value: float,
    ends: Interval,
    facts: Sequence[tuple[str, str]] = (),
    written: Callable[[float], str] = measure,
) -> Dot:
    """A row of an interval chart, with its value as `written` writes it."""
    return Dot(label, kind, ranged(scale, value, ends), written(value), between(ends), tuple(facts))


_Points = list[tuple[float, float | None]]


def line_chart(
    term: str,
    series: Mapping[str, Sequence[Mapping[str, float]]],
    *,
    title: str = "",
    caption: str = "",
    best_step: int | None = None,
    zero: bool = False,
) -> LineChart | None:
    """`term` over steps in each named list of rows; None where no row has a value for it."""
    points = {name: _points(rows, term) for name, rows in series.items()}
    points = {name: found for name, found in points.items() if any(y is not None for _, y in found)}
    values = [y for found in points.values() for _, y in found if y is not None]
    if not values:
        return None
    # On a linear scale, a loss that falls a hundredfold would be flat after its first steps.
    log = not zero and min(values) > 0 and max(values) / min(values) > 100
    y = decades(values) if log else nice(values, zero=zero)
    last = max(x for found in points.values() for x, _ in found)
    x = Scale(0.0, max(last, 1.0), 1.0)
    placed = [
        {
            "name": name,
            "at": [
                [x.at(step), y.at(value), plain(int(step)), plain(float(value))]
                for step, value in _known(found)
            ],
        }
        for name, found in points.items()
    ]
    return LineChart(
        title=title or term.replace("_", " "),
        caption=caption,
        summary=_summary(term, points),
        lines=tuple(Line(name, _pieces(found, x, y)) for name, found in points.items()),
        x_ticks=(Tick(0.0, "0"), Tick(100.0, f"step {plain(int(last))}")),
        y_ticks=y.ticks(),
        best=None if best_step is None else Tick(x.at(best_step), plain(best_step)),
        log=log,
        data=json.dumps(placed, ensure_ascii=True, separators=(",", ":")),
    )


def _points(rows: Sequence[Mapping[str, float]], term: str) -> _Points:
    found = [(row["step"], row[term]) for row in rows if term in row]
    return sorted(
        ((x, y if math.isfinite(y) else None) for x, y in found), key=lambda point: point[0]
    )


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
    """The chart in words, for readers who cannot see it."""
    sentences = []
    for name, found in points.items():
        (first, begin), (last, end) = _known(found)[0], _known(found)[-1]
        sentences.append(
            f"{term.replace('_', ' ')}, {name}: {plain(float(begin))} at step {plain(int(first))}, "
            f"{plain(float(end))} at step {plain(int(last))}."
        )
    return " ".join(sentences)

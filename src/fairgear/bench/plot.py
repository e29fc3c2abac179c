"""Seconds and memory against the size of the graph, both logarithmic, as one SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from fairgear.bench.slopes import slope
from fairgear.bench.store import MACHINE
from fairgear.bench.table import number
from fairgear.report.scales import Scale, decades

WIDTH, HEIGHT = 300, 190
LEFT, TOP, GAP, LEGEND = 62, 34, 84, 14
COLORS = (
    "#1b6ca8",
    "#c2541b",
    "#3b8f4a",
    "#8a4fa3",
    "#a8871b",
    "#4a4a4a",
    "#b03060",
    "#208080",
    "#7a5c2e",
    "#5aa0d0",
)
DASHES = {"scale-free": "", "similarity": "5 3", "random": "2 2"}


@dataclass(frozen=True)
class Line:
    """One side on one kind of graph."""

    side: str
    kind: str
    points: tuple[tuple[float, float], ...]

    @property
    def name(self) -> str:
        """With how fast it grows."""
        grows = slope(*zip(*self.points, strict=True))
        return f"{self.side}, {self.kind}" + ("" if grows is None else f": slope {grows:.2f}")


@dataclass(frozen=True)
class Panel:
    """One chart."""

    title: str
    lines: tuple[Line, ...]


def performance_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row of charts a benchmark: seconds for the whole graph (or a step), and memory."""
    parts, below = [], 0.0
    for case in dict.fromkeys(str(row["case"]) for row in rows if row["case"] != MACHINE):
        own = [row for row in rows if row["case"] == case]
        panels = [panel for panel in (_seconds(case, own), _memory(case, own)) if panel.lines]
        tall = 0.0
        for place, panel in enumerate(panels):
            drawn, height = _drawn(panel)
            x = LEFT + place * (WIDTH + GAP)
            parts.append(f'<g transform="translate({x},{below + TOP})">{drawn}</g>')
            tall = max(tall, height)
        below += tall + TOP + 24 if panels else 0
    width = 2 * (LEFT + WIDTH) + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {below:g}" '
        f'width="{width}" height="{below:g}" font-family="sans-serif" font-size="11" '
        f'role="img"><title>Seconds and memory against the size of the graph</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def _seconds(case: str, rows: Sequence[Mapping[str, Any]]) -> Panel:
    whole = case == "pipeline" or any((number(row, "whole") or 1) > 1 for row in rows)
    title = f"{case}: seconds, " + ("whole graph" if whole else "one step")
    return Panel(title, _lines(rows, "seconds"))


def _memory(case: str, rows: Sequence[Mapping[str, Any]]) -> Panel:
    if case == "pipeline":
        return Panel(f"{case}: MB of the process", _lines(rows, "process_mb"))
    column = "gpu_mb" if any(number(row, "gpu_mb") for row in rows) else "peak_mb"
    return Panel(f"{case}: MB beside the graph", _lines(rows, column))


def _lines(rows: Sequence[Mapping[str, Any]], column: str) -> tuple[Line, ...]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        value = number(row, column)
        if value is not None and value > 0:
            times = (number(row, "whole") or 1.0) if column == "seconds" else 1.0
            points = found.setdefault((str(row["side"]), str(row["kind"])), [])
            points.append((float(row["n"]), times * value))
    return tuple(Line(side, kind, tuple(sorted(at))) for (side, kind), at in found.items())


def _drawn(panel: Panel) -> tuple[str, float]:
    """The chart, and how tall it is with its legend."""
    points = [point for line in panel.lines for point in line.points]
    x, y = decades([n for n, _ in points]), decades([value for _, value in points])
    parts = [
        f'<text x="0" y="-10" font-weight="bold">{escape(panel.title)}</text>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999999"/>',
        *_ticks(x, y),
    ]
    sides = list(dict.fromkeys(line.side for line in panel.lines))
    for place, line in enumerate(panel.lines):
        color = COLORS[sides.index(line.side) % len(COLORS)]
        dash = DASHES.get(line.kind, "")
        style = f'stroke="{color}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        placed = [_placed(x, y, *point) for point in line.points]
        path = " ".join(f"{a:g},{b:g}" for a, b in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke-width="1.5" {style}/>')
        parts += [f'<circle cx="{a:g}" cy="{b:g}" r="2.5" fill="{color}"/>' for a, b in placed]
        at = HEIGHT + 34 + LEGEND * place
        parts.append(
            f'<line x1="0" x2="22" y1="{at - 4}" y2="{at - 4}" stroke-width="1.5" {style}/>'
        )
        parts.append(f'<text x="28" y="{at}">{escape(line.name)}</text>')
    return "".join(parts), HEIGHT + 34 + LEGEND * len(panel.lines)


def _ticks(x: Scale, y: Scale) -> list[str]:
    parts = []
    for tick in x.ticks():
        at = tick.at * WIDTH / 100
        parts.append(
            f'<line x1="{at:g}" x2="{at:g}" y1="0" y2="{HEIGHT}" stroke="#e4e4e4"/>'
            f'<text x="{at:g}" y="{HEIGHT + 14}" text-anchor="middle">{tick.text}</text>'
        )
    for tick in y.ticks():
        at = HEIGHT - tick.at * HEIGHT / 100
        parts.append(
            f'<line x1="0" x2="{WIDTH}" y1="{at:g}" y2="{at:g}" stroke="#e4e4e4"/>'
            f'<text x="-6" y="{at + 4:g}" text-anchor="end">{tick.text}</text>'
        )
    return parts


def _placed(x: Scale, y: Scale, n: float, value: float) -> tuple[float, float]:
    return (
        round(x.at(n) * WIDTH / 100, 2),
        round(HEIGHT - y.at(value) * HEIGHT / 100, 2),
    )

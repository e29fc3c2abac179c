"""The user's causal diagram as a drawing: causes on the left, effects to the right of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairgear.causal import Diagnostics

# Of a box, and from one box to the next, in pixels.
_WIDE, _HIGH = 132, 30
_ACROSS, _DOWN = 190, 46
_MARGIN = 12
# How far an arrow leaves and arrives straight on, and how far it swings past other boxes.
_SWING, _BEND = 50, 32
# Longer names are cut.
_LETTERS = 17


@dataclass(frozen=True)
class Box:
    """A node: its whole name, what is written, and its upper left corner."""

    name: str
    text: str
    kind: str
    x: int
    y: int


@dataclass(frozen=True)
class Arrow:
    """From the right end of a box to the left end of another; `bend` is how far it swings down."""

    x1: int
    y1: int
    x2: int
    y2: int
    bend: int = 0

    @property
    def path(self) -> str:
        """As SVG draws it."""
        first = f"{self.x1 + _SWING} {self.y1 + self.bend}"
        second = f"{self.x2 - _SWING} {self.y2 + self.bend}"
        return f"M{self.x1} {self.y1} C{first} {second} {self.x2} {self.y2}"

    @property
    def angle(self) -> float:
        """Of its tip, in degrees."""
        return round(math.degrees(math.atan2(-self.bend, _SWING)), 1)


@dataclass(frozen=True)
class Drawing:
    """A diagram; `summary` is the same in words."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    summary: str
    box_width: int = _WIDE
    box_height: int = _HIGH


def drawing(found: Diagnostics) -> Drawing | None:
    """The drawing; None without a diagram."""
    if not found.diagram:
        return None
    parents = found.diagram
    layers = _layers(parents)
    place = {
        name: (layer, row) for layer, names in enumerate(layers) for row, name in enumerate(names)
    }
    boxes = {
        name: Box(
            name,
            name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…",
            "resolving" if name in found.resolving else "column",
            _MARGIN + layer * _ACROSS,
            _MARGIN + row * _DOWN,
        )
        for name, (layer, row) in place.items()
    }
    arrows = tuple(
        Arrow(
            boxes[cause].x + _WIDE,
            boxes[cause].y + _HIGH // 2,
            boxes[effect].x,
            boxes[effect].y + _HIGH // 2,
            # Past the boxes in between.
            _BEND if place[effect][0] - place[cause][0] > 1 else 0,
        )
        for effect, causes in parents.items()
        for cause in causes
    )
    sentences = [f"{effect} follows from {', '.join(of)}." for effect, of in parents.items() if of]
    return Drawing(
        width=2 * _MARGIN + (len(layers) - 1) * _ACROSS + _WIDE,
        height=2 * _MARGIN + (max(map(len, layers)) - 1) * _DOWN + _HIGH,
        boxes=tuple(boxes.values()),
        arrows=arrows,
        summary=" ".join(sentences),
    )


def _layers(parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Nodes by the longest way that leads to them; each near the middle of its causes."""
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((deep(cause) for cause in parents.get(name, ())), default=-1)
        return depth[name]

    names = dict.fromkeys([*(cause for of in parents.values() for cause in of), *parents])
    layers: list[list[str]] = [[] for _ in range(max(map(deep, names)) + 1)]
    row: dict[str, float] = {}
    for name in sorted(names, key=lambda name: depth[name]):
        layers[depth[name]].append(name)
    for layer in layers:
        means = {
            name: sum(row[cause] for cause in parents.get(name, ()))
            / max(len(parents.get(name, ())), 1)
            for name in layer
        }
        layer.sort(key=lambda name: means[name])
        row |= {name: float(place) for place, name in enumerate(layer)}
    return layers

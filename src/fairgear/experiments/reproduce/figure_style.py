"""How the figures look: colours, markers, type, and labels that keep out of each other's way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fairgear.metrics.inputs import Floats

# Okabe and Ito's, which colour-blind people tell apart; without yellow, which white swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
HATCHES = ("", "////", "....", "xxxx")
_TICKS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
INK, SOFT, FAINT = "#222222", "#777777", "#E4E4E4"

# Text is drawn as outlines: they look alike everywhere, where a viewer's own font may lack δ or ²
# and never has the widths that the labels were placed by. DejaVu Sans comes with matplotlib.
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.titlesize": 11,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "svg.fonttype": "path",
    "svg.hashsalt": "fairgear",
    "text.color": INK,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
}

# Points from a marker to its label, the nearest tried first. To those beyond `_NEAR` a thin line
# leads, which keeps off the straight directions, where the whiskers are.
_REACHES = (6.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0)
_NEAR = 10.0
_ANGLES = tuple(place * math.pi / 12 for place in range(24))
_FAR_ANGLES = tuple(angle for place, angle in enumerate(_ANGLES) if place % 6)
_LABEL_SIZE, _MARKER_REACH = 7.5, 4.5
# A label across a whisker, or as near to another's marker, is as bad as one that much further off.
_WORSE = 9.0
# Orders in which labels are placed before some are given up.
_TRIES = 6

Bools = np.ndarray[Any, np.dtype[np.bool_]]
_Place = tuple[Floats, Floats]
Segment = tuple[tuple[float, float], tuple[float, float]]


@contextmanager
def style() -> Iterator[None]:
    """Inside, what is drawn or written looks as all figures do, whatever a user has set."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def markers(families: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each line: one colour a family, no two lines alike.

    Args:
        families: the family of each line.
    """
    sizes = Counter(families.values())
    # A curve keeps its colour to itself as long as there are enough.
    joined = [family for family, size in sizes.items() if size > 1]
    alone = [family for family, size in sizes.items() if size == 1]
    colors = dict(zip(joined, cycle(COLORS), strict=False))
    colors |= zip(alone, cycle(COLORS[len(joined) :] or COLORS), strict=False)
    used: dict[str, int] = {}
    found = {}
    for line, family in families.items():
        color = colors[family]
        found[line] = (color, MARKERS[used.get(color, 0) % len(MARKERS)])
        used[color] = used.get(color, 0) + 1
    return found


def square_root(axes: Axes, reached: Sequence[float]) -> None:
    """Give x a scale on which 0 has a place and small values are apart, up to those `reached`."""
    ends = [value for value in reached if math.isfinite(value)]
    far = math.sqrt(max([*ends, 0.001]))
    axes.set_xscale("function", functions=(_root, _square))
    axes.set_xlim(_square(-0.06 * far), _square(1.06 * far))
    ticks: list[float] = []
    for tick in reversed(_TICKS):
        if tick <= far**2 and (not ticks or _root(ticks[0]) - _root(tick) > 0.08 * far):
            ticks.insert(0, tick)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _root(value: Any) -> Any:
    """With its sign, so that there is some room to the left of 0."""
    return np.sign(value) * np.sqrt(np.abs(value))


def _square(value: Any) -> Any:
    return np.sign(value) * np.square(value)


def say_empty(axes: Axes) -> None:
    """Say that a panel has nothing to show."""
    axes.text(0.5, 0.5, "no values", transform=axes.transAxes, ha="center", color=SOFT)


def settle(figure: Figure) -> None:
    """Lay the figure out for good: a layout that runs at every drawing moves a little each time."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def place_labels(
    axes: Axes,
    points: Mapping[str, tuple[float, float]],
    lines: Sequence[Segment],
    *,
    nameless: Collection[str] = (),
) -> list[str]:
    """Write each point's name beside it; those that found no room are returned.

    Labels keep inside the axes and off markers and one another, and off `lines` where they can.
    To be called on a settled figure.

    Args:
        axes: what to write in.
        points: where each name's point is.
        lines: whiskers and curves, end to end, as the points are given.
        nameless: points that only stand in the way.
    """
    scale = axes.figure.dpi / 72

    def on_page(places: Sequence[Any]) -> Floats:
        return axes.transData.transform(np.asarray(places, np.float64).reshape(-1, 2)) / scale

    names = list(points)
    centres, drawn = on_page(list(points.values())), on_page(lines).reshape(-1, 2, 2)
    sizes = np.asarray([_text_size(axes, name) / scale + (6.0, 2.0) for name in names])
    room = np.asarray(axes.bbox.extents) / scale
    order = [place for place in _crowded_first(centres) if names[place] not in nameless]
    most: dict[int, _Place] = {}
    for _ in range(_TRIES):
        found = _layout(order, centres, sizes, drawn, room)
        most = max(most, found, key=len)
        # Who found no room chooses first next time.
        order.sort(key=lambda place: place in found)
        if len(found) == len(order):
            break
    for place, (box, tip) in most.items():
        point = centres[place]
        _write(axes, names[place], points[names[place]], box - np.tile(point, 2), tip - point)
    return [names[place] for place in order if place not in most]


def _layout(
    order: Sequence[int], centres: Floats, sizes: Floats, drawn: Floats, room: Floats
) -> dict[int, _Place]:
    """Box and end of the way for each label that finds room, chosen one after the other."""
    taken = np.hstack([centres - _MARKER_REACH, centres + _MARKER_REACH])
    found = {}
    for place in order:
        point = centres[place]
        reaches, tips, boxes = _places(point, sizes[place])
        # A way may start under a marker that lies on its own.
        apart = taken[~_overlap(np.tile(point, 2)[None], taken)[0]]
        free = (boxes[:, :2] >= room[:2]).all(1) & (boxes[:, 2:] <= room[2:]).all(1)
        free &= ~_overlap(boxes, taken).any(1) & ~_crossed(point, tips, apart).any(1)
        if not free.any():
            continue
        near = boxes + np.outer(reaches, (-1, -1, 1, 1))
        others = np.tile(np.delete(centres, place, axis=0), 2)
        bad = _crossed(drawn[:, 0], drawn[:, 1], boxes).sum(0) + _overlap(near, others).sum(1)
        best = int(np.argmin(np.where(free, reaches + _WORSE * bad, np.inf)))
        taken = np.vstack([taken, boxes[best]])
        drawn = np.concatenate([drawn, [[point, tips[best]]]])
        found[place] = (boxes[best], tips[best])
    return found


def _crowded_first(centres: Floats) -> list[int]:
    """Who has many neighbours chooses first: the others can go elsewhere."""
    gaps = np.hypot(*(centres[:, None] - centres[None]).T)
    return [int(place) for place in np.argsort(-(1 / (1 + gaps)).sum(0), kind="stable")]


def _places(point: Floats, size: Floats) -> tuple[Floats, Floats, Floats]:
    """Where a label could stand: how far off, where the way to it ends, and its box."""
    ways = np.asarray(
        [
            (reach, math.cos(angle), math.sin(angle))
            for reach in _REACHES
            for angle in (_FAR_ANGLES if reach > _NEAR else _ANGLES)
        ]
    )
    tips = point + ways[:, :1] * ways[:, 1:]
    middles = tips + ways[:, 1:] * size / 2
    return ways[:, 0], tips, np.hstack([middles - size / 2, middles + size / 2])


def _overlap(first: Floats, second: Floats) -> Bools:
    """Which boxes of `first` (rows) touch which of `second`; a box is x, y, x, y."""
    a, b = first[:, None], second[None]
    touching: Bools = np.all((a[..., :2] <= b[..., 2:]) & (b[..., :2] <= a[..., 2:]), axis=-1)
    return touching


def _crossed(starts: Floats, ends: Floats, boxes: Floats) -> Bools:
    """Which straight lines (rows) run through which boxes: those inside both ranges at once."""
    starts, ends = np.broadcast_arrays(starts, ends)
    along = (ends - starts)[:, None]
    along = np.where(along == 0, 1e-12, along)
    enter = (boxes[None, :, :2] - starts[:, None]) / along
    leave = (boxes[None, :, 2:] - starts[:, None]) / along
    first = np.minimum(enter, leave).max(-1)
    last = np.maximum(enter, leave).min(-1)
    through: Bools = np.maximum(first, 0) <= np.minimum(last, 1)
    return through


def _write(axes: Axes, name: str, point: tuple[float, float], box: Floats, tip: Floats) -> None:
    """Write in a box, and lead to it if it is far; box and the way's end as seen from the point."""
    middle, size = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
    # From where the way was looked at, not from the middle of the text.
    start = (tip - box[:2]) / size
    line = {"arrowstyle": "-", "lw": 0.5, "color": SOFT, "shrinkA": 0, "shrinkB": 3}
    axes.annotate(
        name,
        point,
        xytext=(float(middle[0]), float(middle[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=_LABEL_SIZE,
        arrowprops=line | {"relpos": tuple(start)} if np.hypot(*tip) > _NEAR else None,
        # A stroke around the letters would be written out letter by letter: a megabyte a figure.
        bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "alpha": 0.7, "lw": 0},
        zorder=4,
    )


def _text_size(axes: Axes, text: str) -> Floats:
    """Width and height in pixels."""
    written = axes.text(0, 0, text, fontsize=_LABEL_SIZE)
    box = written.get_window_extent()
    written.remove()
    return np.asarray([box.width, box.height])

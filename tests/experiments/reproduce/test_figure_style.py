"""Labels of figures: each beside its point, none upon another."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from fairgear.experiments.reproduce.figure_style import place_labels, settle, style


def empty_axes() -> Axes:
    figure = Figure(figsize=(4, 3))
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    settle(figure)
    return axes


def text_boxes(axes: Axes) -> dict[str, Bbox]:
    """Where the words are, without the lines that lead to them."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return {text.get_text(): Text.get_window_extent(text) for text in axes.texts}


PLACES = st.tuples(st.floats(0, 1), st.floats(0, 1))


class TestLabels:
    @settings(max_examples=25, deadline=None)
    @given(st.lists(PLACES, min_size=1, max_size=12))
    def test_labels_touch_neither_each_other_nor_markers(
        self, places: list[tuple[float, float]]
    ) -> None:
        with style():
            axes = empty_axes()
            at = {f"name {place}": point for place, point in enumerate(places)}
            left_out = place_labels(axes, at, [])
            written = text_boxes(axes)
        assert sorted([*left_out, *written]) == sorted(at)
        boxes = list(written.values())
        centres = axes.transData.transform(places)
        for place, box in enumerate(boxes):
            assert axes.bbox.x0 <= box.x0
            assert box.x1 <= axes.bbox.x1
            assert axes.bbox.y0 <= box.y0
            assert box.y1 <= axes.bbox.y1
            assert not any(box.overlaps(other) for other in boxes[:place])
            assert not any(box.contains(x, y) for x, y in centres)

    def test_a_lonely_point_is_named_beside_it_and_off_the_lines(self) -> None:
        with style():
            axes = empty_axes()
            assert place_labels(axes, {"name": (0.5, 0.5)}, []) == []
            free = text_boxes(axes)["name"]
            # A line through the middle of where it stood sends it elsewhere.
            line = [(free.x0 - 1, free.y0), (free.x1 + 1, free.y1)]
            (x0, y0), (x1, y1) = axes.transData.inverted().transform(line)
            other = empty_axes()
            assert place_labels(other, {"name": (0.5, 0.5)}, [((x0, y0), (x1, y1))]) == []
            moved = text_boxes(other)["name"]
        point = axes.transData.transform((0.5, 0.5))
        # Ten points, at 100 dots an inch.
        assert free.padded(14).contains(*point)
        along = np.linspace(line[0], line[1], 200)
        assert any(free.contains(x, y) for x, y in along)
        assert not any(moved.contains(x, y) for x, y in along)

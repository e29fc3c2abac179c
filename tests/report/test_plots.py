"""The figures of an audit: each point is the number that the audit holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgear.auditing import Audit, Worlds
from fairgear.auditing.what_if import (
    Column,
    ExplainedPerson,
    Links,
    Member,
    State,
    WhatIf,
)
from fairgear.errors import ParameterError
from fairgear.report import drawing
from tests.auditing.ages import Slope, ages, everything
from tests.auditing.models import CopiesSens, Everything, Features, measure, small_graph
from tests.processes import exit_code
from tests.report.example import example

PAGE = Path(drawing.__file__).parent / "templates" / "page.css"


@pytest.fixture(scope="module")
def audits() -> tuple[Audit, Audit]:
    worlds = Worlds(small_graph(240), draws=1)
    return measure(Everything(), worlds), measure(CopiesSens(), worlds)


def ends_of(line: Any) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def points(axes: Axes) -> list[tuple[float, float]]:
    """Those that are drawn with a shape."""
    lines = [line for line in axes.get_lines() if line.get_marker() not in ("None", "")]
    return [point for line in lines for point in ends_of(line)]


def segments(axes: Axes) -> list[list[float]]:
    """The ends of whiskers."""
    lines = [line for line in axes.get_lines() if line.get_marker() in ("None", "")]
    return [[x for x, _ in ends_of(line)] for line in lines]


def drawn(figure: Figure) -> Axes:
    figure.canvas.draw()
    (axes,) = [one for one in figure.get_axes() if one.get_visible()]
    return axes


def test_colours_are_those_of_the_page() -> None:
    light = PAGE.read_text().split("@media")[0]
    for name in ("INK", "SOFT", "LINE", "GREY", "BLUE", "ORANGE", "GREEN", "RED", "BAND"):
        assert re.search(rf"--{name.lower()}: {getattr(drawing, name)};", light), name


def test_flips_are_the_rates_and_their_intervals(audits: tuple[Audit, Audit]) -> None:
    audit = audits[0]
    axes = drawn(audit.plot.flips())
    rows = [row for row in audit.flips if row.protocol == "strict"]
    assert points(axes) == [(row.rate, place) for place, row in enumerate(rows)]
    assert segments(axes) == [list(row.interval) for row in rows if row.interval.defined]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(names)) == len(names) == len(rows)


def test_groups_are_the_selection_rates_beside_four_fifths(audits: tuple[Audit, Audit]) -> None:
    audit = audits[0]
    axes = drawn(audit.plot.groups())
    rates = [group.selection_rate for group in audit.groups]
    assert points(axes) == [(rate, place) for place, rate in enumerate(rates)]
    dashed = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    (line,) = dashed
    assert [x for x, _ in ends_of(line)] == pytest.approx([0.8 * max(rates)] * 2)


def test_the_tradeoff_has_every_model_and_both_references(audits: tuple[Audit, Audit]) -> None:
    first, second = audits
    axes = drawn(first.plot.tradeoff(against=[second]))
    known = first.references
    assert points(axes) == [
        *((one.metrics["delta_cf"], one.metrics["auroc"]) for one in audits),
        (known["delta_cf"].copying, known["auroc"].copying),
        (known["delta_cf"].constant, known["auroc"].constant),
    ]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        *("Everything", "CopiesSens", "copies the attribute", "the same for all"),
    ]
    assert points(drawn(first.plot.tradeoff(metric="accuracy")))[0] == (
        first.metrics["delta_cf"],
        first.metrics["accuracy"],
    )


def test_what_cannot_be_drawn_is_refused_in_one_line(audits: tuple[Audit, Audit]) -> None:
    audit = audits[0]
    elsewhere = measure(Features(), small_graph(120))
    refused: list[tuple[Callable[[], Figure], str]] = [
        (lambda: audit.plot.tradeoff(against=[elsewhere]), "audits on other worlds"),
        (lambda: audit.plot.tradeoff(metric="rmse"), "auroc, accuracy, f1"),
        (lambda: replace(audit, flips=()).plot.flips(), "without worlds"),
        (lambda: audit.plot.ego(1), "whose what_if has people"),
        (lambda: explained().plot.ego("nobody"), "such as 7"),
        (lambda: explained().plot.ego(7, own="martians"), "'women', 'men'"),
    ]
    for call, said in refused:
        with pytest.raises(ParameterError) as raised:
            call()
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)


def explained(**changes: Any) -> Audit:
    states = (
        State(-1, 0, 0, 0, 0.7, 1, 0, 0, 0),
        State(0, 0, 0, 0, 0.7, 1, 0, 0, 0),
        State(1, 0, 0, 0, 0.3, 0, 1, 1, 1),
        State(1, 1, 0, 0, 0.9, 1, 0, 0, 0),
    )
    person = ExplainedPerson(
        node_id=7,
        chosen="affected",
        y=1,
        members=(Member(7, 0, 2), Member(8, 1, 3), Member(9, 0, 1), Member(10, 1, 4)),
        hidden=3,
        edges=((0, 1), (0, 2), (1, 2)),
        features=((1000.0, 0.0, 5.0), (2000.0, 1.0, 5.0)),
        links=(Links((), ()), Links(((0, 1),), ((0, 3),))),
        attributes=((0.0, 1.0, 0.0, 1.0), (1.0, 1.0, 0.0, 1.0)),
        states=states,
    )
    columns = (
        Column("income $x$", 0, 9000),
        Column("job", float("nan"), float("nan"), ("clerk", "nurse")),
        Column("age", 0, 90),
    )
    what_if = WhatIf(
        columns, ("women", "men"), ("as they are", "all men"), ("own",), (1.0,), (person,)
    )
    return replace(example(), what_if=what_if, **changes)


def test_an_ego_is_drawn_twice_at_the_same_places() -> None:
    figure = explained().plot.ego(7)
    figure.canvas.draw()
    left, right = figure.get_axes()
    places = [
        [tuple(np.asarray(one.get_offsets())[0].tolist()) for one in axes.collections]
        for axes in (left, right)
    ]
    assert places[0] == places[1]
    assert len(places[0]) == 4
    assert "score 0.700" in left.get_title()
    assert "men\nscore 0.300" in right.get_title()

    def ends(axes: Axes, style: str, color: str) -> list[list[tuple[float, float]]]:
        return [
            ends_of(line)
            for line in axes.get_lines()
            if line.get_linestyle() == style and line.get_color() == color
        ]

    at = places[0]
    assert ends(left, "-", drawing.GREY) == [[at[0], at[1]], [at[0], at[2]], [at[1], at[2]]]
    assert ends(right, "-", drawing.GREY) == [[at[0], at[2]], [at[1], at[2]]]
    assert ends(right, "--", drawing.RED) == [[at[0], at[1]]]
    assert ends(right, "-", drawing.BLUE) == [[at[0], at[3]]]
    assert right.get_xlabel() == "income \\$x\\$: 1,000 to 2,000\njob: clerk to nurse"
    assert "3 more neighbours" in left.get_xlabel()


def test_the_value_can_be_chosen_and_a_name_may_stand_for_an_id() -> None:
    figure = explained().plot.ego("7", own="women")
    assert "women\nscore 0.700" in figure.get_axes()[1].get_title()


@pytest.mark.parametrize("kind", ["number of s", "example"])
def test_audits_of_other_kinds_are_drawn(kind: str) -> None:
    audit = example()
    if kind == "number of s":
        graph = ages()
        audit = measure(everything, Worlds(graph, Slope().fit(graph), draws=1))
    for figure in (audit.plot.flips(), audit.plot.groups(), audit.plot.tradeoff()):
        figure.canvas.draw()


def test_a_notebook_shows_a_figure_and_no_window_opens() -> None:
    figure: Any = example().plot.groups()
    assert figure._repr_png_().startswith(b"\x89PNG")
    code = "import sys, fairgear, fairgear.report; sys.exit('matplotlib' in sys.modules)"
    assert exit_code(exec, code) == 0

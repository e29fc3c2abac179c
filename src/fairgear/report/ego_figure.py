"""A person's surroundings drawn twice, as they are and as they would be, at the same places."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgear.auditing import Audit
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.errors import ParameterError
from fairgear.report.drawing import (
    BLUE,
    GREY,
    INK,
    LINE,
    RED,
    SERIES,
    SHAPES,
    SOFT,
    drawing,
    plain_text,
)
from fairgear.report.numbers import class_name, group_words, measure, plain
from fairgear.report.sections.ego import positions

# Columns that are named below the drawing.
_COLUMNS = 6
_KEYS: dict[str, tuple[str, Literal["-", "--"], str]] = {
    "gone": (RED, "--", "gone"),
    "new": (BLUE, "-", "new"),
    "kept": (GREY, "-", "kept"),
}


def ego_figure(audit: Audit, person: int | str, own: str | None) -> Figure:
    """The figure; see `Plots.ego`."""
    what_if, found = _person(audit, person)
    state = _state(what_if, found, own)
    figure = drawing(9.4, 5.4, f"Person {found.node_id}")
    left, right = figure.subplots(1, 2)
    # As the page draws them, where up is down.
    places = [(x / 100, -y / 100) for x, y in positions(found)]
    for axes, one, name in (
        (left, found.states[0], "as it is"),
        (right, state, f"their own value: {what_if.own[state.own]}"),
    ):
        _draw(axes, audit, found, one, places)
        answer = class_name(one.label, audit.names)
        said = f"{name}\nscore {measure(one.score)}, answer {answer}"
        axes.set_title(plain_text(said), fontsize=9.5, color=INK)
    figure.legend(
        handles=_keys(audit, found, state), loc="outside lower center", ncols=4, fontsize=8
    )
    moved = _moved(what_if, found, state)
    right.set_xlabel(plain_text("\n".join(moved)), fontsize=8, color=SOFT)
    if found.hidden:
        left.set_xlabel(f"{found.hidden:,} more neighbours are not drawn", fontsize=8, color=SOFT)
    return figure


def _person(audit: Audit, person: int | str) -> tuple[WhatIf, ExplainedPerson]:
    known = audit.what_if
    if known is None or not known.people:
        got, step = "an audit without people in other worlds", "read audit.affected instead"
        raise ParameterError("audit.plot.ego()", got, "one whose what_if has people", step)
    for one in known.people:
        if str(one.node_id) == str(person):
            return known, one
    names = ", ".join(str(one.node_id) for one in known.people[:5])
    allowed = f"one of the {len(known.people)} people in audit.what_if, such as {names}"
    raise ParameterError("person", repr(person), allowed, "choose one of them")


def _state(what_if: WhatIf, person: ExplainedPerson, own: str | None) -> State:
    """The person's own value alone is another, under the audit's causal model in full."""
    alone = [s for s in person.states if s.own >= 0 and s.others == s.model == s.dose == 0]
    if own is not None:
        alone = [state for state in alone if what_if.own[state.own] == own]
    if not alone:
        names = ", ".join(map(repr, what_if.own)) or "none"
        got = "no world in which it alone is another" if own is None else repr(own)
        raise ParameterError("own", got, f"a value that was asked: {names}", "choose another one")
    label = person.states[0].label
    return next((state for state in alone if state.label != label), alone[0])


def _draw(
    axes: Axes,
    audit: Audit,
    person: ExplainedPerson,
    state: State,
    places: list[tuple[float, float]],
) -> None:
    links = person.links[state.links]
    gone = set(map(tuple, links.gone))
    kinds = {"kept": [tuple(e) for e in person.edges if tuple(e) not in gone]}
    kinds |= {"gone": sorted(gone), "new": [tuple(e) for e in links.new]}
    for kind, pairs in kinds.items():
        color, style, _ = _KEYS[kind]
        for a, b in pairs:
            across, up = zip(places[a], places[b], strict=True)
            axes.plot(
                across,
                up,
                linestyle=style,
                color=color,
                linewidth=1.0 if kind == "kept" else 2.0,
                zorder=1,
            )
    values = person.attributes[state.attributes]
    for at, (member, value) in enumerate(zip(person.members, values, strict=True)):
        color, shape = _look(audit, value)
        size = 190 if at == 0 else 90
        edge = INK if at == 0 else "white"
        axes.scatter(*places[at], s=size, c=color, marker=shape, edgecolors=edge, zorder=2)
        words = str(member.node_id)
        words += f"\n{plain(float(value))}" if audit.names.number else ""
        x, y = places[at]
        axes.annotate(
            plain_text(words),
            (x, y),
            (0, -10 if y <= 0 else 8),
            textcoords="offset points",
            ha="center",
            va="top" if y <= 0 else "bottom",
            fontsize=7.5,
            color=SOFT,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )
    axes.set_aspect("equal")
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.35, 1.35)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color(LINE)


def _look(audit: Audit, value: float) -> tuple[str, str]:
    """Colour and shape of a group; of numbers all are alike, and their value is written."""
    group = 0 if audit.names.number else int(value)
    return SERIES[group % len(SERIES)], SHAPES[group % len(SHAPES)]


def _keys(audit: Audit, person: ExplainedPerson, state: State) -> list[Line2D]:
    links = person.links[state.links]
    shown = {"kept": bool(person.edges), "gone": bool(links.gone), "new": bool(links.new)}
    keys = [
        Line2D([], [], linestyle=style, color=color, label=f"link {words}")
        for kind, (color, style, words) in _KEYS.items()
        if shown[kind]
    ]
    if audit.names.number:
        return keys
    both = {*person.attributes[0], *person.attributes[state.attributes]}
    for value in sorted(both):
        color, shape = _look(audit, value)
        name = plain_text(group_words(int(value), audit.names))
        keys.append(Line2D([], [], linestyle="none", marker=shape, color=color, label=name))
    return keys


def _moved(what_if: WhatIf, person: ExplainedPerson, state: State) -> list[str]:
    """The columns with another value, as "income: 31,250 to 28,400"."""
    rows = zip(
        what_if.columns,
        person.features[person.states[0].features],
        person.features[state.features],
        strict=True,
    )
    found = []
    for column, before, after in rows:
        if before != after:
            values = [column.levels[int(v)] if column.levels else plain(v) for v in (before, after)]
            found.append(f"{column.name}: {values[0]} to {values[1]}")
    more = len(found) - _COLUMNS
    return [*found[:_COLUMNS], *([f"and {more} more columns"] if more > 0 else [])]

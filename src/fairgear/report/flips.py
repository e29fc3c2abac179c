"""Flips by intervention: the charts of each protocol, the table, and what each one means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairgear.report.figures import Dot, IntervalChart, dot, scale_over
from fairgear.report.numbers import between, count, measure, percent
from fairgear.report.parts import Part, interval, mapping, number, rows
from fairgear.report.scales import Scale

PROTOCOLS = {
    "strict": "The causal model in full: features, links and surroundings change as far as it has "
    "them follow the attributes.",
    "released": "Softened as in the paper's released code: the sensitive column moves, other "
    "features a little, links not at all.",
    "placebo": "The softening alone, with nobody's attribute changed: what released would find "
    "where there is nothing to find.",
}
_INTERVENTIONS = {
    "average over rates": "The mean over the rates: the δCF at the top of this page.",
    "rate 0": "Everybody's attribute is set to 0.",
    "rate 0.5": "Half of the people, drawn at random, are set to 1 and the rest to 0.",
    "rate 1": "Everybody's attribute is set to 1.",
    "between worlds": "Two such worlds are compared with each other, rather than with the real "
    "one, as the paper defines δCF.",
    "self": "Only the person's own attribute is flipped.",
    "neighbours": "The person's own attribute stays; everybody else's is drawn anew.",
    "unchanged": "Nobody's attribute is changed.",
    "both": "The person's own attribute is flipped and everybody else's is drawn anew.",
}


@dataclass(frozen=True)
class FlipRow:
    """One line of the table."""

    protocol: str
    intervention: str
    rate: str
    interval: str
    gains: str
    losses: str
    score_change: str
    rising: str
    falling: str
    error: str
    people: str
    draws: str


@dataclass(frozen=True)
class FlipSection:
    """Everything said about flips."""

    charts: tuple[IntervalChart, ...]
    table: tuple[FlipRow, ...]
    ways: bool
    """Whether it was recorded which way the scores move."""
    protocols: tuple[tuple[str, str], ...]
    interventions: tuple[tuple[str, str], ...]


def flip_section(run: Part) -> FlipSection | None:
    """The section; None where no flips were recorded."""
    found = sorted(rows(mapping(run, "details"), "flips"), key=_order)
    if not found:
        return None
    protocols = list(dict.fromkeys(_word(row, "protocol") for row in found))
    names = list(dict.fromkeys(_word(row, "intervention") for row in found))
    return FlipSection(
        charts=_charts(found, protocols),
        table=tuple(_table_row(row) for row in found),
        ways=any(key in row for row in found for key in ("rising", "falling")),
        protocols=tuple((name, PROTOCOLS.get(name, "")) for name in protocols),
        interventions=tuple((name, explained(name)) for name in sorted(names, key=_place)),
    )


def explained(intervention: str) -> str:
    """What an intervention does, in one sentence."""
    if intervention in _INTERVENTIONS:
        return _INTERVENTIONS[intervention]
    if intervention.startswith("rate "):
        return f"A share {intervention.removeprefix('rate ')} of the people is set to 1."
    return ""


def _charts(found: Sequence[Part], protocols: Sequence[str]) -> tuple[IntervalChart, ...]:
    scale = scale_over([(number(row, "rate"), interval(row.get("interval"))) for row in found])
    # The placebo is there to be held against released, so it shares its panel.
    panels = [name for name in protocols if name != "placebo" or "released" not in protocols]
    charts = []
    for panel in panels:
        shown = {panel, "placebo"} if panel == "released" else {panel}
        mine = [row for row in found if _word(row, "protocol") in shown]
        charts.append(IntervalChart(panel, scale.ticks(), tuple(_dot(row, scale) for row in mine)))
    return tuple(charts)


def _dot(row: Part, scale: Scale) -> Dot:
    protocol, name = _word(row, "protocol"), _word(row, "intervention")
    cells = _table_row(row)
    facts = (
        ("from 0 to 1", cells.gains),
        ("from 1 to 0", cells.losses),
        ("mean size of the change of the score", cells.score_change),
        ("error of the draws", cells.error),
        ("people", cells.people),
        ("draws", cells.draws),
    )
    label = f"placebo, {name}" if protocol == "placebo" else name
    kind = protocol if protocol in PROTOCOLS else "other"
    return dot(scale, label, kind, number(row, "rate"), interval(row.get("interval")), facts)


def _table_row(row: Part) -> FlipRow:
    return FlipRow(
        protocol=_word(row, "protocol"),
        intervention=_word(row, "intervention"),
        rate=measure(number(row, "rate")),
        interval=between(interval(row.get("interval"))),
        gains=measure(number(row, "gains")),
        losses=measure(number(row, "losses")),
        score_change=measure(number(row, "score_size")),
        rising=_way(row, "rising", "rise"),
        falling=_way(row, "falling", "fall"),
        error="one draw" if row.get("draws") == 1 else measure(number(row, "error")),
        people=count(row.get("people")),
        draws=count(row.get("draws")),
    )


def _way(row: Part, share: str, size: str) -> str:
    """How many scores go one way, and by how much."""
    people, amount = number(row, share), number(row, size)
    if people is None or amount is None:
        # Where nobody's score goes that way there is no amount to speak of.
        return percent(people)
    return f"{percent(people)}, by {measure(abs(amount))}"


def _word(row: Part, key: str) -> str:
    return str(row.get(key) or "unnamed")


def _order(row: Part) -> tuple[int, str, int, str]:
    protocol, name = _word(row, "protocol"), _word(row, "intervention")
    known = list(PROTOCOLS)
    rank = known.index(protocol) if protocol in known else len(known)
    return rank, protocol, *_place(name)


def _place(name: str) -> tuple[int, str]:
    known = list(_INTERVENTIONS)
    return (known.index(name) if name in known else len(known)), name

"""Flips by intervention: charts by protocol, what each means; and under other causal models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairgear.auditing import Audit, FlipRow, Sensitivity
from fairgear.auditing.effects import AVERAGE
from fairgear.auditing.sensitivity import CausalModelRow, Dose
from fairgear.graph.attributes import LEVELS
from fairgear.report.charts import Dot, IntervalChart, Scale, dot, scale_over
from fairgear.report.numbers import (
    between,
    count,
    group_words,
    measure,
    percent,
    plain,
    signed,
    ways,
)
from fairgear.report.sections.groups import MANY
from fairgear.report.world_words import world_words

_PROTOCOLS = {
    "strict": "The causal model in full: features, links and surroundings change as far as they "
    "follow from the attributes.",
    "released": "Softened as in the paper's released code: the sensitive column moves, other "
    "features a little, links not at all.",
    "placebo": "The softening alone, with nobody's attribute changed: what released finds where "
    "there is nothing to find.",
}
_INTERVENTIONS = {
    "average over rates": "The mean over these worlds, δCF.",
    "rate 0": "Everybody's attribute is set to the first group.",
    "rate 0.5": "Half of the people, drawn at random, are set to each group.",
    "rate 1": "Everybody's attribute is set to the second group.",
    "between worlds": "Two such worlds are compared with each other, rather than with the real "
    "one, as the paper defines δCF.",
    "self": "Only the person's own attribute is flipped.",
    "neighbours": "The person's own attribute stays; everybody else's is redrawn.",
    "unchanged": "Nobody's attribute is changed.",
    "both": "The person's own attribute is flipped and everybody else's is redrawn.",
}


@dataclass(frozen=True)
class FlipSection:
    """The section on flips; `protocols` and `interventions` are names with meanings."""

    charts: tuple[IntervalChart, ...]
    rows: tuple[FlipRow, ...]
    words: dict[str, str]
    """What the page calls each intervention."""
    protocols: tuple[tuple[str, str], ...]
    interventions: tuple[tuple[str, str], ...]
    ways: tuple[str, str]
    matrix: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """From each group, the flips to every group when a person's own changes, with their intervals;
    none of two."""
    columns: tuple[str, ...]
    """The groups that people are moved to, with numbers alone where there are many."""
    kind: str
    """What the matrix is of: groups, or ranges of a number."""


def flip_section(audit: Audit) -> FlipSection | None:
    """The section; None where there are no flips, for want of a causal model."""
    meanings = _meanings(audit)
    worlds, questions = list(_PROTOCOLS), list(meanings)
    rows = sorted(
        audit.flips, key=lambda r: (worlds.index(r.protocol), questions.index(r.intervention))
    )
    if not rows:
        return None
    protocols = [name for name in _PROTOCOLS if any(row.protocol == name for row in rows)]
    names = {row.intervention for row in rows}
    words = {
        name: world_words(name, audit.names, two_groups=audit.two_groups) for name in sorted(names)
    }
    either = ways(audit.target, audit.names)
    return FlipSection(
        charts=_charts(rows, protocols, either, words),
        rows=tuple(rows),
        words=words,
        protocols=tuple((name, _PROTOCOLS[name]) for name in protocols),
        interventions=tuple((key, text) for key, text in meanings.items() if key in names),
        ways=either,
        matrix=_matrix(audit),
        columns=_columns(audit),
        kind="range" if audit.names.number else "group",
    )


def _matrix(audit: Audit) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    others = {"other_group", "other_band"} & set(audit.people)
    if not others or "flip_strict_self" not in audit.people:
        return ()
    flips, ends = audit.self_flips().to_numpy(), audit.self_intervals()
    groups = [one.group for one in audit.groups]

    def cell(own: int, other: int) -> tuple[str, str]:
        if (groups[own], groups[other]) not in ends:
            return "–", ""
        return percent(float(flips[own, other])), between(ends[groups[own], groups[other]], percent)

    places = range(len(groups))
    rows = [
        (group_words(groups[own], audit.names), tuple(cell(own, other) for other in places))
        for own in places
    ]
    if len(groups) > MANY:
        # Few people are in each of so many cells, and with intervals they would not fit.
        rows = [(name, tuple((value, "") for value, _ in cells)) for name, cells in rows]
    return tuple(rows)


def _columns(audit: Audit) -> tuple[str, ...]:
    groups = [one.group for one in audit.groups]
    if len(groups) > MANY:
        return tuple(f"group {group}" for group in groups)
    return tuple(group_words(group, audit.names) for group in groups)


def _meanings(audit: Audit) -> dict[str, str]:
    """What each intervention is; with several groups or a number, one for each world."""
    if audit.names.number:
        return _of_a_number(audit.names.number, audit.names.levels)
    if audit.two_groups:
        return _INTERVENTIONS
    # Worlds are of all groups, also of those of whom nobody is audited.
    worlds = {row.intervention for row in audit.flips if row.intervention.startswith("group ")}
    each = {
        f"group {group}": f"Everybody’s group is {group_words(group, audit.names)}."
        for group in sorted(int(world.removeprefix("group ")) for world in worlds)
    }
    mean = "The mean over these worlds, δCF."
    own = "The person alone is in another group, drawn at random."
    both = "The person is in another group and everybody else's is redrawn."
    mixed = {"mixed": "Equally many people, drawn at random, in every group."}
    known = {AVERAGE: mean, **each, **mixed}
    rest = {key: text for key, text in _INTERVENTIONS.items() if key not in known}
    return {**known, **rest, "self": own, "both": both}


def _of_a_number(name: str, levels: Sequence[float]) -> dict[str, str]:
    each = {
        f"quantile {level:g}": f"Everybody's {name} is {plain(value)}, which at least "
        f"{level:.0%} of the people do not exceed."
        for level, value in zip(LEVELS, levels, strict=True)
    }
    return {
        AVERAGE: "The mean over these worlds, δCF.",
        **each,
        "mixed": f"Everybody has somebody's {name}: the values change hands at random.",
        "between worlds": _INTERVENTIONS["between worlds"],
        "self": f"The person alone has another {name}, drawn from those of all people.",
        "neighbours": f"The person keeps their {name}; a random half of the others get somebody's.",
        "unchanged": _INTERVENTIONS["unchanged"],
        "both": f"The person and a random half of the others get somebody's {name}.",
    }


def draws_error(row: FlipRow) -> str:
    """The Monte Carlo error of a row."""
    return "one draw" if row.draws == 1 else measure(row.error)


def _charts(
    rows: Sequence[FlipRow],
    protocols: Sequence[str],
    names: tuple[str, str],
    words: Mapping[str, str],
) -> tuple[IntervalChart, ...]:
    scale = scale_over([(row.rate, row.interval) for row in rows])
    charts = []
    for panel in protocols:
        # The placebo is there to compare released with, so it shares its panel.
        shown = {panel, "placebo"} if panel == "released" else {panel}
        mine = [row for row in rows if row.protocol in shown]
        if panel != "placebo":
            dots = tuple(_dot(row, scale, names, words) for row in mine)
            title = panel if len(protocols) > 1 else "Whose attribute is set"
            charts.append(IntervalChart(title, scale.ticks(), dots))
    return tuple(charts)


def _dot(row: FlipRow, scale: Scale, names: tuple[str, str], words: Mapping[str, str]) -> Dot:
    facts = (
        (names[0], measure(row.gains)),
        (names[1], measure(row.losses)),
        ("mean size of the change of the score", measure(row.score_size)),
        ("error of the draws", draws_error(row)),
        ("people", count(row.people)),
        ("draws", count(row.draws)),
    )
    label = words[row.intervention]
    label = f"placebo, {label}" if row.protocol == "placebo" else label
    return dot(scale, label, row.protocol, row.rate, row.interval, facts)


def causal_model_chart(found: Sensitivity) -> IntervalChart:
    """δCF by causal model."""
    rows = [row for row in found.rows if row.error is None]
    scale = scale_over([(row.rate, row.interval) for row in rows])
    dots = []
    for row in rows:
        facts = [("mean size of the change of the score", measure(row.score_size))]
        facts += [("remark", row.remark)] if row.remark else []
        if row.model != "own":
            text = f"{signed(row.difference)} ({between(row.difference_interval)})"
            facts.append(("against this audit's causal model", text))
        kind = "strict" if row.model == "own" else "other" if row.credible else "doubtful"
        dots.append(dot(scale, causal_model_name(row), kind, row.rate, row.interval, facts))
    title = "share of people whose answer changes, by causal model"
    return IntervalChart(title, scale.ticks(), tuple(dots))


def dose_chart(found: Dose) -> IntervalChart:
    """δCF by dose."""
    scale = scale_over([(point.rate, point.interval) for point in found.points])
    dots = tuple(
        dot(scale, f"{point.share:.0%} of it", "strict", point.rate, point.interval)
        for point in found.points
    )
    return IntervalChart(
        "share of people whose answer changes, by the share of the difference", scale.ticks(), dots
    )


def causal_model_name(row: CausalModelRow) -> str:
    """What the page calls it."""
    return "this audit's own" if row.model == "own" else row.model

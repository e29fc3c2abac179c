"""Metric cards: a value with its interval on the range that the metric declares."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.metrics import METRICS
from fairgear.report.figures import Range, ranged
from fairgear.report.numbers import between, measure
from fairgear.report.parts import Part, interval, mapping, number, rows
from fairgear.report.scales import Scale

ACCURATE = ("accuracy", "auroc")
ALIKE = ("delta_cf", "delta_cf_released")

_MEANING = {
    "accuracy": "Share of people whose answer is right.",
    "auroc": "Chance that somebody of class 1 scores above somebody of class 0.",
    "f1": "Balance of finding class 1 and being right when it is said.",
    "delta_cf": "Share of people whose answer changes in a world with other sensitive attributes, "
    "with everything that follows from them: features, links, surroundings.",
    "delta_cf_released": "The same in the softened worlds of the paper's released code, where "
    "little but the sensitive column moves. Compare published numbers with this one.",
    "delta_cf_self": "Answers that change when only the person's own attribute is flipped.",
    "delta_cf_neighbor": "Answers that change when only the attributes of the others are drawn "
    "anew.",
    "delta_cf_both": "Answers that change when one's own and the others' attributes change.",
    "delta_eo": "Gap between the groups in how often people of class 1 get answer 1.",
    "delta_dp": "Gap between the groups in how often people get answer 1.",
    "r2": "How much of the answer can be told from the attributes of the people around.",
}


@dataclass(frozen=True)
class Card:
    """One metric, ready to be shown."""

    name: str
    label: str
    meaning: str
    value: str
    interval: str
    direction: str
    low: str
    high: str
    range: Range | None
    reference: str
    kind: str


def card(run: Part, name: str) -> Card:
    """The card of one metric, whatever of it is there."""
    value = number(mapping(run, "metrics"), name)
    ends = interval(mapping(run, "intervals").get(name))
    if name not in METRICS:
        return Card(name, name, "", measure(value), between(ends), "", "", "", None, "", "other")
    metric = METRICS[name]
    reference, words = _reference(run, name)
    higher = metric.direction == "higher"
    return Card(
        name=name,
        label=metric.label,
        meaning=_MEANING.get(name, ""),
        value=measure(value),
        interval=between(ends),
        direction=f"{metric.direction} is better",
        low=f"{metric.low:g}, {'worst' if higher else 'best'}",
        high=f"{metric.high:g}, {'best' if higher else 'worst'}",
        range=ranged(Scale(metric.low, metric.high, 1.0), value, ends, reference),
        reference=words,
        kind=metric.direction,
    )


def other_cards(run: Part) -> list[Card]:
    """Every metric that is not on the first screen, in the order of the registry."""
    shown = (*ACCURATE, *ALIKE)
    unknown = [name for name in mapping(run, "metrics") if name not in METRICS]
    return [card(run, name) for name in [*METRICS, *unknown] if name not in shown]


def _reference(run: Part, name: str) -> tuple[float | None, str]:
    """What a reader can hold the value against, and in words."""
    details = mapping(run, "details")
    if name == "auroc":
        return 0.5, "Guessing: 0.5."
    if name == "accuracy":
        positive = number(mapping(details, "graph"), "positive_rate")
        if positive is not None:
            same = max(positive, 1 - positive)
            return same, f"The commoner answer for everybody: {measure(same)}, on the whole graph."
    if name == "delta_cf_released":
        placebo = placebo_rate(run)
        if placebo is not None:
            return (
                placebo,
                f"Placebo, with nobody's attribute changed: {measure(placebo)}.",
            )
    return None, ""


def placebo_rate(run: Part) -> float | None:
    """Flips that the softening alone causes: the average if it was made, else the first."""
    found = {
        str(row.get("intervention")): number(row, "rate")
        for row in rows(mapping(run, "details"), "flips")
        if row.get("protocol") == "placebo"
    }
    return found.get("average over rates", next(iter(found.values()), None))

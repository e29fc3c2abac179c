"""Two models on the same people and worlds: each difference, and whether it can be told."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.metrics import METRICS
from fairgear.report.figures import IntervalChart, dot, scale_over
from fairgear.report.numbers import between, count, measure, signed
from fairgear.report.parts import Part, interval, mapping, number, rows, sequence


@dataclass(frozen=True)
class ComparisonRow:
    """One metric of both models."""

    label: str
    direction: str
    first: str
    second: str
    difference: str
    interval: str
    verdict: str


@dataclass(frozen=True)
class ComparisonSection:
    """Everything said about the two models."""

    first: str
    second: str
    people: str
    chart: IntervalChart
    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...]


def comparison_section(audit: Part) -> ComparisonSection | None:
    """The section; None where there is nothing to compare with."""
    found = mapping(audit, "comparison")
    metrics = rows(found, "rows")
    if not metrics:
        return None
    first, second = (str(found.get(key) or f"the {key} model") for key in ("first", "second"))
    return ComparisonSection(
        first=first,
        second=second,
        people="" if number(found, "people") is None else count(found["people"]),
        chart=_chart(metrics, first, second),
        rows=tuple(_row(row, first, second) for row in metrics),
        notes=tuple(str(note) for note in sequence(found, "notes")),
    )


def _chart(metrics: list[Part], first: str, second: str) -> IntervalChart:
    shown = [(number(row, "difference"), interval(row.get("interval"))) for row in metrics]
    scale = scale_over(shown, from_zero=False)
    dots = []
    for row, (value, ends) in zip(metrics, shown, strict=True):
        kind = {"first": "strict", "second": "released"}.get(str(row.get("better")), "placebo")
        facts = (
            (first, measure(number(row, "first"))),
            (second, measure(number(row, "second"))),
            ("so", _verdict(row, first, second)),
        )
        dots.append(dot(scale, _label(row), kind, value, ends, facts, signed))
    return IntervalChart(f"{first} minus {second}", scale.ticks(), tuple(dots), scale.at(0.0))


def _row(row: Part, first: str, second: str) -> ComparisonRow:
    metric = METRICS[row["metric"]] if row.get("metric") in METRICS else None
    return ComparisonRow(
        label=_label(row),
        direction=f"{metric.direction} is better" if metric else "",
        first=measure(number(row, "first")),
        second=measure(number(row, "second")),
        difference=signed(number(row, "difference")),
        interval=between(interval(row.get("interval"))),
        verdict=_verdict(row, first, second),
    )


def _label(row: Part) -> str:
    return str(row.get("label") or row.get("metric") or "unnamed")


def _verdict(row: Part, first: str, second: str) -> str:
    better = {"first": first, "second": second}.get(str(row.get("better")))
    ends = interval(row.get("interval"))
    if better is not None:
        return f"{better} is better"
    if ends is None:
        return "undefined"
    return "no difference can be told" if ends[0] <= 0 <= ends[1] else "they differ"

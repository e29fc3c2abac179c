"""How the verdict moves with the causal model: the same question asked of others."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.figures import IntervalChart, dot, scale_over
from fairgear.report.numbers import between, measure, signed
from fairgear.report.parts import Part, interval, mapping, number, rows


@dataclass(frozen=True)
class CausalModelRow:
    """What one causal model finds; `error` says why it could not be asked."""

    label: str
    meaning: str
    own: bool
    rate: str
    interval: str
    score_change: str
    difference: str
    difference_interval: str
    error: str


@dataclass(frozen=True)
class CausalModelSection:
    """Everything said about other causal models."""

    verdict: str
    depends: bool
    chart: IntervalChart | None
    rows: tuple[CausalModelRow, ...]


def causal_model_section(audit: Part) -> CausalModelSection | None:
    """The section; None where no other causal model was asked."""
    found = mapping(audit, "causal_models")
    models = rows(found, "rows")
    if not models:
        return None
    return CausalModelSection(
        verdict=str(found.get("verdict") or ""),
        depends=found.get("depends") is True,
        chart=_chart([row for row in models if not row.get("error")]),
        rows=tuple(_row(row) for row in models),
    )


def _chart(models: list[Part]) -> IntervalChart | None:
    if not models:
        return None
    shown = [(number(row, "rate"), interval(row.get("interval"))) for row in models]
    scale = scale_over(shown)
    dots = []
    for row, (value, ends) in zip(models, shown, strict=True):
        cells = _row(row)
        facts = [("mean size of the change of the score", cells.score_change)]
        if not cells.own:
            words = f"{cells.difference} ({cells.difference_interval})"
            facts.append(("against this audit's causal model", words))
        kind = "strict" if cells.own else "other"
        dots.append(dot(scale, cells.label, kind, value, ends, facts))
    title = "share of people whose answer changes, by causal model"
    return IntervalChart(title, scale.ticks(), tuple(dots))


def _row(row: Part) -> CausalModelRow:
    own = row.get("model") == "own"
    return CausalModelRow(
        label=_label(row, own),
        meaning=str(row.get("meaning") or ""),
        own=own,
        rate=measure(number(row, "rate")),
        interval=between(interval(row.get("interval"))),
        score_change=measure(number(row, "score_size")),
        difference="" if own else signed(number(row, "difference")),
        difference_interval="" if own else between(interval(row.get("difference_interval"))),
        error=str(row.get("error") or ""),
    )


def _label(row: Part, own: bool) -> str:
    label = row.get("label")
    if own:
        return f"{label} (this audit)" if label else "this audit's own"
    return str(label or row.get("model") or "unnamed")

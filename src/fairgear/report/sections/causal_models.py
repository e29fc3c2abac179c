"""Other causal models: the same question under other assumptions."""

from __future__ import annotations

from fairgear.auditing import Sensitivity
from fairgear.auditing.sensitivity import CausalModelRow
from fairgear.report.charts import IntervalChart, dot, scale_over
from fairgear.report.numbers import between, measure, signed


def causal_model_chart(found: Sensitivity) -> IntervalChart:
    """δCF by causal model."""
    rows = [row for row in found.rows if row.error is None]
    scale = scale_over([(row.rate, row.interval) for row in rows])
    dots = []
    for row in rows:
        facts = [("mean size of the change of the score", measure(row.score_size))]
        if row.model != "own":
            text = f"{signed(row.difference)} ({between(row.difference_interval)})"
            facts.append(("against this audit's causal model", text))
        kind = "strict" if row.model == "own" else "other"
        dots.append(dot(scale, causal_model_name(row), kind, row.rate, row.interval, facts))
    title = "share of people whose answer changes, by causal model"
    return IntervalChart(title, scale.ticks(), tuple(dots))


def causal_model_name(row: CausalModelRow) -> str:
    """What the page calls it."""
    return "this audit's own" if row.model == "own" else row.model

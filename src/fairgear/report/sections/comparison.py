"""Two models on the same people and worlds: each difference, and whether it is significant."""

from __future__ import annotations

from fairgear.auditing import Comparison
from fairgear.auditing.comparison import ComparisonRow
from fairgear.metrics import METRICS
from fairgear.report.charts import IntervalChart, dot, scale_over
from fairgear.report.numbers import measure, signed

_KINDS = {"first": "strict", "second": "released", None: "placebo"}


def comparison_chart(found: Comparison) -> IntervalChart:
    """The difference of every metric."""
    scale = scale_over([(row.difference, row.interval) for row in found.rows], from_zero=False)
    dots = []
    for row in found.rows:
        facts = (
            (found.first, measure(row.first)),
            (found.second, measure(row.second)),
            ("verdict", comparison_verdict(row, found)),
        )
        label, kind = METRICS[row.metric].label, _KINDS[row.better]
        dots.append(dot(scale, label, kind, row.difference, row.interval, facts, signed))
    title = f"{found.first} minus {found.second}"
    return IntervalChart(title, scale.ticks(), tuple(dots), scale.at(0.0))


def comparison_verdict(row: ComparisonRow, found: Comparison) -> str:
    """Which model is better by this metric, if that is clear."""
    if row.better is not None:
        return f"{found.first if row.better == 'first' else found.second} is better"
    return "no clear difference" if row.interval.defined else "undefined"

"""Means over seeds, and tables of methods by metrics, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from fairgear.metrics import METRICS
from fairgear.studies.tables import comparison_latex, comparison_markdown, summary


def runs(**values: list[float | None]) -> pd.DataFrame:
    """Runs of some methods, all metrics alike but for AUROC, which is given."""
    made = []
    for method, found in values.items():
        for seed, value in enumerate(found):
            metrics = dict.fromkeys(METRICS, 0.25) | {"auroc": value, "delta_cf": value}
            made.append({"dataset": "toy", "method": method, "seed": seed, **metrics})
    return pd.DataFrame(made)


def found_in(table: pd.DataFrame, method: str, metric: str) -> Any:
    (found,) = table[(table.method == method) & (table.metric == metric)].to_dict("records")
    return found


def test_means_deviations_intervals_and_ranks_by_hand() -> None:
    table = summary(runs(one=[0.5, 0.7, 0.9], two=[0.8, 0.8, 0.8], three=[0.1, None, 0.3]))
    one = found_in(table, "one", "auroc")
    assert (one["mean"], one["std"]) == (pytest.approx(0.7), pytest.approx(0.2))
    ends = stats.t.interval(0.95, 2, loc=0.7, scale=0.2 / math.sqrt(3))
    assert (one["low"], one["high"]) == pytest.approx(ends)
    three = found_in(table, "three", "auroc")
    assert (three["mean"], three["seeds"]) == (pytest.approx(0.2), 2)
    # Higher is better for AUROC, lower for δCF; what is equal shares its rank.
    assert [found_in(table, m, "auroc")["rank"] for m in ("two", "one", "three")] == [1, 2, 3]
    assert [found_in(table, m, "delta_cf")["rank"] for m in ("two", "one", "three")] == [3, 2, 1]
    assert {found_in(table, m, "f1")["rank"] for m in ("two", "one", "three")} == {1}


def test_one_seed_has_no_deviation_and_nothing_measured_no_rank() -> None:
    table = summary(runs(one=[0.5], two=[None]))
    assert math.isnan(found_in(table, "one", "auroc")["std"])
    assert math.isnan(found_in(table, "two", "auroc")["rank"])
    assert found_in(table, "one", "auroc")["rank"] == 1
    text = comparison_markdown(table)
    assert "| `one` | 0.250 (1) | 0.250 (1) | 0.500 (1) |" in text
    assert "| `two` | 0.250 (1) | 0.250 (1) | undefined |" in text


def test_both_tables_have_every_method_and_metric() -> None:
    table = summary(runs(one=[0.5, 0.7], two=[0.8, 0.8]))
    markdown, latex = comparison_markdown(table), comparison_latex(table)
    assert "0.600 ± 0.141 (2)" in markdown
    assert r"$0.600 \pm 0.141$ (2)" in latex
    assert all(metric.label in markdown for _, metric in METRICS.items())
    for line in latex.splitlines():
        if line.endswith(r"\\"):
            assert line.count("&") == len(METRICS)
    assert not set("Δδ²") & set(latex)


def test_labels_are_fit_for_latex() -> None:
    found = summary(runs(one=[0.5]).assign(method="gear:weight_decay=0.1"))
    text = comparison_latex(found)
    assert r"gear:weight\_decay=0.1" in text
    assert "weight_" not in text

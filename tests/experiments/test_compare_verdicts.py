"""What a comparison says in words, and beside the published figures."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from fairgear.experiments.compare import Plan, execute_comparison
from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.compare_table import summary, to_markdown
from fairgear.experiments.compare_verdicts import verdicts
from fairgear.experiments.published import beside_published, published, published_markdown
from fairgear.methods import METHODS
from fairgear.metrics import METRICS

ENTRIES = [Entry.of(name) for name in ("gear", "gear:erase=0", "graphsage", "gcn", "logistic")]


def table(**auroc_and_delta: tuple[float, float]) -> pd.DataFrame:
    """Two datasets; the second has all methods alike."""
    labels = {"gear0": "gear:erase=0"}
    rows = []
    for name, (auroc, delta) in auroc_and_delta.items():
        for dataset, values in (("bail", (auroc, delta)), ("credit", (0.5, 0.5))):
            metrics = dict.fromkeys(METRICS, 0.25)
            metrics |= {"auroc": values[0], "delta_cf": values[1]}
            method = labels.get(name, name)
            rows += [
                {"dataset": dataset, "method": method, "seed": seed, **metrics} for seed in (0, 1)
            ]
    return summary(pd.DataFrame(rows))


def test_where_gear_stands_and_where_no_graph_is_needed() -> None:
    found = table(
        gear=(0.80, 0.01),
        gear0=(0.90, 0.02),
        graphsage=(0.85, 0.10),
        gcn=(0.70, 0.015),
        logistic=(0.95, 0.005),
    )
    told = verdicts(found, ENTRIES)
    assert told["bail"] == [
        "Without a graph, `logistic` has the better AUROC: 0.950 against 0.900 of `gear:erase=0`, "
        "the best that reads the graph.",
        "Without a graph, `logistic` has the better δCF (strict): 0.005 against 0.010 of `gear`, "
        "the best that reads the graph.",
        "`gear` has a lower δCF (strict) than every method but gear that reads the graph (0.010; "
        "next `gcn` 0.015), and a lower AUROC than the best of them (0.800; `graphsage` 0.850).",
        "`gear:erase=0` has no lower δCF (strict) than `gcn`, which reads the graph too (0.020; "
        "0.015), and an AUROC no lower than theirs (0.900; best `graphsage` 0.850).",
    ]
    # Where all are alike no floor is better; equal is not lower, and no lower is equal.
    assert len(told["credit"]) == 2
    assert all(
        "has no lower δCF" in line and "an AUROC no lower" in line for line in told["credit"]
    )
    text = to_markdown(found, told)
    assert all(f"- {line}" in text for lines in told.values() for line in lines)
    assert text.index("Without a graph") < text.index("### credit")


def test_a_variant_is_a_rival() -> None:
    rows = [
        {"dataset": "bail", "method": label, "seed": 0, **dict.fromkeys(METRICS, value)}
        for label, value in (("gear", 0.3), ("gear:variant=np", 0.2), ("gcn", 0.4))
    ]
    entries = [Entry.of(str(row["method"])) for row in rows]
    (told,) = verdicts(summary(pd.DataFrame(rows)), entries)["bail"]
    assert told.startswith("`gear` has no lower δCF (strict) than `gear:variant=np`, which reads")


def test_nothing_is_said_of_what_is_not_there() -> None:
    found = table(gear=(0.8, math.nan), logistic=(0.9, 0.1))
    told = verdicts(found, [ENTRIES[0], ENTRIES[-1]])
    assert [line.split(" has")[0] for line in told["bail"]] == ["Without a graph, `logistic`"]
    alone = table(graphsage=(0.8, 0.1))
    assert verdicts(alone, [ENTRIES[2]]) == {"bail": [], "credit": []}


def test_the_published_figures_are_the_papers() -> None:
    rows = set(published("table2").itertuples(index=False, name=None))
    assert len(rows) == 3 * 8 * 7
    assert ("bail", "GraphSAGE", "auroc", 0.905, 0.021) in rows
    assert ("credit", "GEAR", "delta_cf_released", 0.001, 0.001) in rows
    assert ("synthetic", "C-ENC", "accuracy", 0.665, 0.023) in rows
    assert {row[2] for row in rows} <= set(METRICS)
    both = beside_published(table(**{name: (0.5, 0.5) for name in METHODS}))
    assert set(both.method) < set(METHODS)
    assert both.method.nunique() == 8


def test_how_far_off_by_hand() -> None:
    both = beside_published(table(graphsage=(0.95, 0.1), logistic=(0.9, 0.1)))
    assert set(both.method) == {"graphsage"}
    (one,) = both[(both.dataset == "bail") & (both.metric == "auroc")].to_dict("records")
    assert one["off"] == pytest.approx((0.95 - 0.905) / 0.021)
    text = published_markdown(both)
    assert "**0.950** (0.905 ± 0.021, +2.1 σ)" in text
    # Published F1 on bail: 0.804 ± 0.032.
    assert "**0.250** (0.804 ± 0.032, -17.3 σ)" in text
    (near,) = both[(both.dataset == "bail") & (both.metric == "delta_dp")].to_dict("records")
    assert near["off"] == pytest.approx((0.25 - 0.086) / 0.039)


@pytest.mark.parametrize(("split", "there"), [("released", True), ("sixty-twenty-twenty", False)])
def test_published_figures_are_set_beside_their_own_split_alone(
    split: str, there: bool, tmp_path: Path
) -> None:
    short = Entry("gcn", "gcn", {"steps": 5})
    execute_comparison(Plan(("synthetic",), (short,), 1, split), tmp_path)
    assert (tmp_path / "published.md").exists() == there
    assert (tmp_path / "published.csv").exists() == there


@pytest.mark.parametrize("name", list(METHODS))
def test_what_reads_no_graph_is_known(name: str) -> None:
    floors = {"logistic", "logistic-unaware", "logistic-residual", "logistic-projected", "boosting"}
    assert METHODS[name].reads_graph == (name not in floors)

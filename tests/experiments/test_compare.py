"""Comparisons: every run once, tables by hand, and an interrupted one goes on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from fairgear.cli import main
from fairgear.errors import FairgearError
from fairgear.experiments import compare
from fairgear.experiments.compare import Plan, execute_comparison
from fairgear.experiments.compare_table import summary, to_latex, to_markdown
from fairgear.methods import METHODS
from fairgear.metrics import METRICS
from fairgear.runs import run


def rows(**values: list[float | None]) -> pd.DataFrame:
    """Runs of some methods, all metrics alike but for AUROC, which is given."""
    made = []
    for method, found in values.items():
        for seed, value in enumerate(found):
            metrics = dict.fromkeys(METRICS, 0.25) | {"auroc": value, "delta_cf": value}
            made.append({"dataset": "toy", "method": method, "seed": seed, **metrics})
    return pd.DataFrame(made)


def cell(table: pd.DataFrame, method: str, metric: str) -> Any:
    (found,) = table[(table.method == method) & (table.metric == metric)].to_dict("records")
    return found


def test_means_deviations_intervals_and_ranks_by_hand() -> None:
    table = summary(rows(one=[0.5, 0.7, 0.9], two=[0.8, 0.8, 0.8], three=[0.1, None, 0.3]))
    one = cell(table, "one", "auroc")
    assert (one["mean"], one["std"]) == (pytest.approx(0.7), pytest.approx(0.2))
    ends = stats.t.interval(0.95, 2, loc=0.7, scale=0.2 / math.sqrt(3))
    assert (one["low"], one["high"]) == pytest.approx(ends)
    three = cell(table, "three", "auroc")
    assert (three["mean"], three["seeds"]) == (pytest.approx(0.2), 2)
    # Higher is better for AUROC, lower for δCF; what is equal shares its rank.
    assert [cell(table, m, "auroc")["rank"] for m in ("two", "one", "three")] == [1, 2, 3]
    assert [cell(table, m, "delta_cf")["rank"] for m in ("two", "one", "three")] == [3, 2, 1]
    assert {cell(table, m, "f1")["rank"] for m in ("two", "one", "three")} == {1}


def test_one_seed_has_no_deviation_and_nothing_measured_no_rank() -> None:
    table = summary(rows(one=[0.5], two=[None]))
    assert math.isnan(cell(table, "one", "auroc")["std"])
    assert math.isnan(cell(table, "two", "auroc")["rank"])
    assert cell(table, "one", "auroc")["rank"] == 1
    text = to_markdown(table)
    assert "| `one` | 0.250 (1) | 0.250 (1) | 0.500 (1) |" in text
    assert "| `two` | 0.250 (1) | 0.250 (1) | undefined |" in text


def test_both_tables_have_every_method_and_metric() -> None:
    table = summary(rows(one=[0.5, 0.7], two=[0.8, 0.8]))
    markdown, latex = to_markdown(table), to_latex(table)
    assert "0.600 ± 0.141 (2)" in markdown
    assert r"$0.600 \pm 0.141$ (2)" in latex
    assert all(metric.label in markdown for _, metric in METRICS.items())
    for line in latex.splitlines():
        if line.endswith(r"\\"):
            assert line.count("&") == len(METRICS)
    assert not set("Δδ²") & set(latex)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["nosuch"], ["logistic"], 1), "nosuch"),
        ((["synthetic"], ["nosuch"], 1), "nosuch"),
        ((["synthetic"], ["logistic"], 0), "seeds: got 0"),
    ],
)
def test_a_plan_is_checked_before_any_work(arguments: Any, message: str) -> None:
    datasets, methods, seeds = arguments
    with pytest.raises(FairgearError, match=message):
        Plan.of(datasets, methods, seeds, "released")


def test_all_is_every_method_and_names_count_once() -> None:
    every = Plan.of(["synthetic"], ["all"], 1, "released").entries
    assert tuple(entry.label for entry in every) == tuple(METHODS)
    plan = Plan.of(["synthetic", "synthetic"], ["logistic", "gcn", "logistic"], 2, "released")
    assert [(cell.config.seed, cell.config.method) for cell in plan.runs()] == [
        (0, "logistic"),
        (0, "gcn"),
        (1, "logistic"),
        (1, "gcn"),
    ]


def test_an_interrupted_comparison_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan.of(["synthetic"], ["logistic", "logistic-unaware"], 1, "released")
    made: list[str] = []

    def stops(config: Any, folder: Any, worlds: Any) -> Any:
        made.append(config.method)
        if len(made) == 2:
            raise KeyboardInterrupt
        return run(config, folder, worlds)

    monkeypatch.setattr(compare, "run", stops)
    with pytest.raises(KeyboardInterrupt):
        execute_comparison(plan, tmp_path)
    assert list(pd.read_csv(tmp_path / "runs.csv").method) == ["logistic"]
    found = execute_comparison(plan, tmp_path)
    assert made == ["logistic", "logistic-unaware", "logistic-unaware"]
    assert list(found.method) == ["logistic", "logistic-unaware"]
    again = execute_comparison(plan, tmp_path)
    assert len(made) == 3
    pd.testing.assert_frame_equal(found, again)
    written = {entry.name for entry in tmp_path.iterdir()}
    assert written == {"runs", "runs.csv", "summary.csv", "table.md", "table.tex"}, (
        "the paper has no such method"
    )


def test_a_larger_plan_adds_to_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Plan.of(["synthetic"], ["logistic", "logistic-unaware"], 1, "released")
    execute_comparison(small, tmp_path)

    def stops(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "run", stops)
    larger = Plan.of(["synthetic"], ["boosting", "logistic", "logistic-unaware"], 1, "released")
    with pytest.raises(KeyboardInterrupt):
        execute_comparison(larger, tmp_path)
    assert list(pd.read_csv(tmp_path / "runs.csv").method) == ["logistic", "logistic-unaware"]
    # What the paper has too goes when the plan has it no more.
    (tmp_path / "published.md").write_text("of another plan")
    assert len(execute_comparison(small, tmp_path)) == 2
    assert not (tmp_path / "published.md").exists()


def test_another_comparisons_folder_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute_comparison(Plan.of(["synthetic"], ["logistic"], 1, "released"), tmp_path)
    before = (tmp_path / "runs.csv").read_text()
    made: list[Any] = []
    monkeypatch.setattr(compare, "run", lambda *run: made.append(run))
    other = Plan.of(["synthetic"], ["logistic-unaware", "logistic"], 1, "sixty-twenty-twenty")
    with pytest.raises(FairgearError, match="a run with other settings"):
        execute_comparison(other, tmp_path)
    assert made == []
    assert (tmp_path / "runs.csv").read_text() == before
    assert {entry.name for entry in (tmp_path / "runs").iterdir()} == {"synthetic-logistic-0"}


def test_labels_are_fit_for_latex() -> None:
    found = summary(rows(one=[0.5]).assign(method="gear:weight_decay=0.1"))
    text = to_latex(found)
    assert r"gear:weight\_decay=0.1" in text
    assert "weight_" not in text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["compare", "--methods", "logistic", "--seeds", "1", "--out", str(tmp_path / "out")]
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["summary"]
    assert {row["metric"] for row in found} == set(METRICS)
    assert main(typed) == 0
    assert "| `logistic` |" in capsys.readouterr().out
    assert main(["compare", "--methods", "nosuch", "--out", str(tmp_path / "no")]) == 2
    assert "nosuch" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()

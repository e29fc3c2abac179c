"""A benchmark run: what it measures, and how a second call goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.bench import runner
from benchmarks.bench.__main__ import parsed
from benchmarks.bench.graphs import Scene, make_graph
from benchmarks.bench.limits import BANDWIDTH, GEMM, RANDOM, bound
from benchmarks.bench.pipeline import run_pipeline
from benchmarks.bench.plan import Plan
from benchmarks.bench.tables import blocks


def test_a_run_measures_and_a_second_call_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(plan: Plan, device: str, work: Callable[[runner.Emit], None]) -> list[runner.Row]:
        rows: list[runner.Row] = []
        work(rows.append)
        return rows

    # A process that has used torch's threads cannot be forked.
    monkeypatch.setattr(runner, "measured", here)
    limits = [{"side": RANDOM, "unit": "accesses/s", "rate": 1e8}]
    monkeypatch.setattr(runner, "measure_limits", lambda device: limits)
    plan = Plan(
        cases=("egos",), kinds=("similarity",), sizes=(500,), repeats=1, enough=1.0, degree=6
    )
    rows = runner.run(plan, tmp_path)
    sides = {row["side"]: row for row in rows if row["case"] == "egos"}
    assert next(iter(sides)) == "fairgear"
    for row in sides.values():
        assert row["seconds"] > 0
        assert 0 <= row["peak_mb"] <= row["process_mb"]
    ours, theirs = sides["fairgear"], sides["PyG subgraph"]
    assert theirs["ratio"] == pytest.approx(theirs["seconds"] / ours["seconds"])
    assert "% of random access" in blocks(rows)["egos"]
    monkeypatch.setattr(runner, "measured", None)
    again = runner.run(plan, tmp_path)
    assert blocks(again) == blocks(rows)
    with pytest.raises(SystemExit, match="other settings"):
        runner.run(Plan(seed=1), tmp_path)


def test_the_pipeline_has_a_row_for_each_stage_and_their_sum() -> None:
    rows: list[runner.Row] = []
    plan = Plan(steps=2)
    run_pipeline(Scene(make_graph("scale-free", 300, degree=8, features=4), plan), rows.append)
    assert [row["side"] for row in rows] == ["training", "representations", "total"]
    assert rows[-1]["seconds"] == pytest.approx(sum(row["seconds"] for row in rows[:-1]))


def test_a_child_that_dies_is_reported() -> None:
    def work(emit: runner.Emit) -> None:
        emit({"side": "first"})
        raise SystemExit(7)

    with pytest.raises(runner.MeasurementFailed, match="7"):
        runner.measured(Plan(), "cpu", work)


def test_options_become_a_plan() -> None:
    plan, folder = parsed(["--quick", "--only", "egos", "step", "--sizes", "700", "--out", "here"])
    assert (plan.cases, plan.sizes, plan.repeats) == (("egos", "step"), (700,), 2)
    assert folder == Path("here")
    with pytest.raises(SystemExit):
        parsed(["--only", "nosuch"])


def test_the_slowest_limit_is_the_one_that_applies() -> None:
    rates = {GEMM: 100.0, BANDWIDTH: 10.0, RANDOM: 1.0}
    row = {"operations": 100.0, "bytes": 20.0, "accesses": 0.5, "seconds": 8.0}
    assert bound(row, rates) == (BANDWIDTH, 0.25)
    assert bound({**row, "accesses": 4.0}, rates) == (RANDOM, 0.5)
    assert bound({"seconds": 8.0}, rates) is None
    assert bound(row, {}) is None

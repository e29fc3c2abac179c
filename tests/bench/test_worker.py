"""The process that measures: what it answers, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from fairgear.bench import __main__ as bench_main
from fairgear.bench.config import Bench
from fairgear.bench.worker import MeasurementFailed, Worker


def test_a_worker_measures_time_and_memory_and_tells_what_fails(
    capfd: pytest.CaptureFixture[str],
) -> None:
    # One for all: to start it takes longer than anything that it is asked here.
    plan = Bench(repeats=1, enough=1.0, degree=6, features=5)
    with Worker(plan, "similarity", 500) as worker:
        assert worker.edges == pytest.approx(500 * 6 / 2, rel=0.2)
        with pytest.raises(MeasurementFailed, match="failed") as failure:
            list(worker.ask("nosuch"))
        assert not failure.value.fatal
        assert "nosuch" in capfd.readouterr().err
        rows = {row["side"]: row for row in worker.ask("egos")}
        assert next(iter(rows)) == "fairgear"
        assert all(row["seconds"] > 0 for row in rows.values())
        assert rows["fairgear"]["accesses"] > 0
        (memory,) = worker.ask("egos", "PyG subgraph")
        assert 0 <= memory["peak_mb"] < memory["process_mb"]
        worker._process.kill()
        with pytest.raises(MeasurementFailed, match="has ended") as failure:
            list(worker.ask("egos"))
        assert failure.value.fatal


def test_with_a_card_all_is_measured_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def serve(scene: Any, plan: Any, request: dict[str, Any], emit: Any) -> None:
        asked.append(request)
        emit({"side": "fairgear"})
        if request["case"] == "broken":
            raise RuntimeError("no more memory")

    monkeypatch.setattr(bench_main, "serve", serve)
    plan = Bench(device="cuda", threads=1)
    fine = list(bench_main._here(None, plan, {"case": "step"}))
    assert fine == [{"row": {"side": "fairgear"}}, {"end": ""}]
    (row, end) = bench_main._here(None, plan, {"case": "broken"})
    assert (row, end) == ({"row": {"side": "fairgear"}}, {"end": bench_main.FAILED})
    assert [request["case"] for request in asked] == ["step", "broken"]

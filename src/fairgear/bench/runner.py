"""A benchmark run: every case on every graph, what is done already left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairgear.bench.config import ON_DEVICE, Bench
from fairgear.bench.store import MACHINE, Cell, Row, Store
from fairgear.bench.worker import MeasurementFailed, Worker
from fairgear.errors import ParameterError
from fairgear.experiments.provenance import source_commit
from fairgear.progress import log


def execute(plan: Bench, folder: Path) -> Store:
    """Measure what is missing in `folder`; a side that fails is told and left to the next call."""
    if plan.device == "cuda":
        _check_card()
    store = Store(folder, plan)
    for device in dict.fromkeys(("cpu", plan.device)):
        _measure_machine(plan, store, device)
    for n in plan.sizes:
        for kind in plan.kinds:
            missing = [case for case in plan.cases if (case, kind, n) not in store.finished]
            if missing:
                _measure_graph(plan, store, kind, n, missing)
    return store


def _check_card() -> None:
    import torch

    if not torch.cuda.is_available():
        raise ParameterError(
            "--device",
            "'cuda' on a machine without it",
            "cpu",
            "leave it out, or use a machine with a card",
        )


def _measure_machine(plan: Bench, store: Store, device: str) -> None:
    cell = (MACHINE, device, 0)
    if cell in store.finished:
        return
    log(f"machine, {device}: arithmetic, bandwidth, random access")
    with Worker(replace(plan, device=device)) as worker:
        rows = [row | _about(plan, device) for row in worker.ask(MACHINE)]
    store.begin(cell)
    store.add(cell, rows)
    store.finish(cell)


def _measure_graph(plan: Bench, store: Store, kind: str, n: int, cases: list[str]) -> None:
    log(f"{kind}, {n:,} people: the graph")
    with Worker(plan, kind, n) as worker:
        for case in cases:
            log(f"{kind}, {n:,} people: {case}")
            cell = (case, kind, n)
            store.begin(cell)
            device = plan.device if case in ON_DEVICE else "cpu"
            about = {"edges": worker.edges, **_about(plan, device)}
            try:
                _measure_case(worker, store, cell, about)
            except MeasurementFailed as failure:
                # Others go on: one side may need more memory than there is.
                log(str(failure))
                if failure.fatal:
                    return
                continue
            store.finish(cell)


def _measure_case(worker: Worker, store: Store, cell: Cell, about: Row) -> None:
    case = cell[0]
    if case == "pipeline":
        for row in worker.ask(case):
            store.add(cell, [row | about])
            log(f"  {row['side']}: {row['seconds']:.1f} s, {row['process_mb']:,.0f} MB so far")
        return
    rows = [row | about for row in worker.ask(case)]
    for row in rows:
        if row.pop("memory") and row.get("seconds") is not None:
            for found in worker.ask(case, row["side"]):
                row |= found
    store.add(cell, with_ratios(rows))


def with_ratios(rows: list[Row]) -> list[Row]:
    """How many times as long each side takes as the side of fairgear that it is held against."""
    seconds = {row["side"]: row.get("seconds") for row in rows}
    for row in rows:
        own, base = row.get("seconds"), seconds.get(row.get("against"))
        row["ratio"] = own / base if own is not None and base else None
    return rows


def _about(plan: Bench, device: str) -> dict[str, Any]:
    """Under which circumstances a row was measured."""
    return {
        "device": device,
        "threads": plan.threads,
        "commit": source_commit(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }

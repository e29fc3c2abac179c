"""A benchmark run: every case on every graph; cases that are done already are left out.

The process that holds a graph forks a child for each measurement, so that its memory is that of
the graph and what the measurement adds. Nothing here may start threads before a fork: the child
would wait for threads that it does not have. A GPU cannot be used after a fork; with one,
everything is measured in this process and the memory that counts is the GPU's.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator
from csv import DictReader
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.bench.audit import audit_case
from benchmarks.bench.egos import PprCase, ego_case
from benchmarks.bench.graphs import Scene, make_graph
from benchmarks.bench.limits import measure_limits
from benchmarks.bench.measure import Case, memory_of, time_case
from benchmarks.bench.pipeline import run_pipeline
from benchmarks.bench.plan import ON_DEVICE, Plan
from benchmarks.bench.steps import embedding_case, gear_case, vae_case
from benchmarks.bench.tables import MACHINE
from fairgear.auditing.provenance import source_commit
from fairgear.egos import clear_cache
from fairgear.methods import GearPaperConfig
from fairgear.progress import log, quiet

Row = dict[str, Any]
Emit = Callable[[Row], None]
Cell = tuple[str, str, int]

# All but the pipeline, which has stages in place of sides.
MAKERS: dict[str, Callable[[Scene], Case]] = {
    "pagerank": lambda scene: PprCase(scene).case(),
    "egos": ego_case,
    "audit": audit_case,
    "step": lambda scene: gear_case(scene, GearPaperConfig()),
    "vae step": vae_case,
    "embedding": embedding_case,
}
COLUMNS = [
    "case",
    "kind",
    "n",
    "edges",
    "side",
    "against",
    "unit",
    "seconds",
    "median",
    "setup_seconds",
    "units",
    "repeats",
    "whole",
    "ratio",
    "peak_mb",
    "process_mb",
    "gpu_mb",
    "operations",
    "bytes",
    "accesses",
    "rate",
    "note",
    "checks",
    "device",
    "threads",
    "commit",
    "measured",
]


class MeasurementFailed(RuntimeError):
    """The child of a measurement has died."""


def run(plan: Plan, folder: Path) -> list[Row]:
    """Measure what is missing in `folder`; return all its rows. What fails is logged."""
    store = Store(folder, plan)
    torch.set_num_threads(1)
    # Loads the library for matrices now, so that it does not count as memory of the work.
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    for device in dict.fromkeys(("cpu", plan.device)):
        cell = (MACHINE, device, 0)
        if cell not in store.done:
            log(f"machine, {device}: arithmetic, bandwidth, random access")
            found = measured(plan, device, partial(_limits, device))
            store.add(cell, [row | _about(plan, device) for row in found])
    for n in plan.sizes:
        for kind in plan.kinds:
            missing = [case for case in plan.cases if (case, kind, n) not in store.done]
            if missing:
                _measure_graph(plan, store, kind, n, missing)
    return store.rows


class Store:
    """The rows of a folder, in results.csv; plan.json says with which settings they were made.

    Rows made with other settings cannot be compared, so they need another folder.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._csv, settings = folder / "results.csv", folder / "plan.json"
        if settings.exists() and json.loads(settings.read_text()) != plan.settings():
            raise SystemExit(f"{folder} was measured with other settings; choose another --out")
        settings.write_text(json.dumps(plan.settings(), indent=1))
        self.rows: list[Row] = []
        if self._csv.exists():
            with self._csv.open(encoding="utf-8", newline="") as file:
                self.rows = list(DictReader(file))
        self.done: set[Cell] = {(row["case"], row["kind"], int(row["n"])) for row in self.rows}

    def add(self, cell: Cell, rows: list[Row]) -> None:
        """Write the rows of a case on a graph."""
        place = dict(zip(("case", "kind", "n"), cell, strict=True))
        self.rows += [dict.fromkeys(COLUMNS, "") | place | row for row in rows]
        self.done.add(cell)
        pd.DataFrame(self.rows, columns=COLUMNS).to_csv(self._csv, index=False)


def measured(plan: Plan, device: str, work: Callable[[Emit], None]) -> list[Row]:
    """The rows that `work` emits: in a child on the CPU, in this process on a GPU."""
    if device != "cpu":
        rows: list[Row] = []
        torch.set_num_threads(plan.threads)
        work(rows.append)
        return rows
    return list(_in_child(plan.threads, work))


def _in_child(threads: int, work: Callable[[Emit], None]) -> Iterator[Row]:
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def child() -> None:
        torch.set_num_threads(threads)
        work(sending.send)

    process = context.Process(target=child, daemon=True)
    process.start()
    sending.close()
    while True:
        try:
            yield receiving.recv()
        except EOFError:
            break
    process.join()
    if process.exitcode:
        raise MeasurementFailed(f"the child ended with status {process.exitcode}")


def _measure_graph(plan: Plan, store: Store, kind: str, n: int, cases: list[str]) -> None:
    log(f"{kind}, {n:,} people: the graph")
    graph = make_graph(kind, n, degree=plan.degree, features=plan.features, seed=plan.seed)
    scene = Scene(graph, plan)
    clear_cache()
    for case in cases:
        log(f"{kind}, {n:,} people: {case}")
        device = plan.device if case in ON_DEVICE else "cpu"
        about = {"edges": graph.num_undirected_edges, **_about(plan, device)}
        try:
            rows = _stages(scene, device) if case == "pipeline" else _sides(scene, case, device)
        except MeasurementFailed as failure:
            # Others go on: one side may need more memory than there is.
            log(f"{case}: {failure}; the same command tries it again")
            continue
        store.add((case, kind, n), [row | about for row in rows])


def _stages(scene: Scene, device: str) -> list[Row]:
    return measured(scene.plan, device, lambda emit: run_pipeline(scene, emit))


def _sides(scene: Scene, name: str, device: str) -> list[Row]:
    """All sides of a case, timed in turns; then the memory of each, alone."""
    with quiet():
        # Found once, for all children.
        _ = scene.index

    def timed(emit: Emit) -> None:
        with quiet():
            case = MAKERS[name](scene)
            for row in time_case(case, scene.plan.repeats, scene.plan.enough, torch.device(device)):
                emit(row | {"memory": case.sides[row["side"]].memory})

    def held(side: str, emit: Emit) -> None:
        with quiet():
            emit(memory_of(MAKERS[name](scene).sides[side], torch.device(device)))

    rows = measured(scene.plan, device, timed)
    for row in rows:
        if row.pop("memory") and row.get("seconds") is not None:
            (found,) = measured(scene.plan, device, partial(held, row["side"]))
            row |= found
    return with_ratios(rows)


def with_ratios(rows: list[Row]) -> list[Row]:
    """How many times as long each side takes as the side of fairgear it is compared with."""
    seconds = {row["side"]: row.get("seconds") for row in rows}
    for row in rows:
        own, base = row.get("seconds"), seconds.get(row.get("against"))
        row["ratio"] = own / base if own is not None and base else None
    return rows


def _limits(device: str, emit: Emit) -> None:
    for row in measure_limits(torch.device(device)):
        emit(row)


def _about(plan: Plan, device: str) -> Row:
    """Under which circumstances a row was measured."""
    return {
        "device": device,
        "threads": plan.threads,
        "commit": source_commit(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }

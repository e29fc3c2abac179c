"""The whole pipeline on one graph, stage by stage: training and representations."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sklearn.metrics import roc_auc_score

from benchmarks.bench.graphs import Scene
from benchmarks.bench.measure import peak_mb
from fairgear.graph import SensitiveGraph
from fairgear.methods import Gear
from fairgear.runs.predictions import write_table


def run_pipeline(scene: Scene, emit: Callable[[dict[str, Any]], None]) -> None:
    """All stages, then their sum; peak memory is the whole process's, the graph included."""
    graph, plan = scene.graph, scene.plan
    gear = Gear(seed=plan.seed, device=plan.device, steps=plan.steps)
    with TemporaryDirectory() as folder:
        stages: dict[str, Callable[[], object]] = {
            "training": lambda: gear.fit(graph, checkpoint=Path(folder, "saved")),
            "representations": lambda: write_table(gear, graph, Path(folder, "people.parquet")),
        }
        total = 0.0
        for name, work in stages.items():
            begin = time.perf_counter()
            work()
            seconds = time.perf_counter() - begin
            total += seconds
            emit(_row(name, seconds))
    emit(_row("total", total) | {"note": _auroc(gear, graph)})


def _row(name: str, seconds: float) -> dict[str, Any]:
    counts = {"unit": "graph", "units": 1, "whole": 1, "repeats": 1}
    return {"side": name, "seconds": seconds, "process_mb": peak_mb(), **counts}


def _auroc(gear: Gear, graph: SensitiveGraph) -> str:
    """AUROC on some test people, to show that the model has learned something."""
    some = torch.nonzero(graph.test_mask)[:2000, 0]
    scores = gear.predict_proba(graph, nodes=some)[:, 1]
    return f"test AUROC {roc_auc_score(graph.y[some].numpy(), scores):.3f}"

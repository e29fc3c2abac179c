"""The whole pipeline on one graph, stage by stage: egos, generator, training, embeddings."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.bench.measure import peak_mb
from fairgear.bench.scene import Scene
from fairgear.egos import EgoIndex
from fairgear.experiments.representations import write_table
from fairgear.graph import SensitiveGraph
from fairgear.methods import Gear
from fairgear.methods.gear_data import GearData
from fairgear.training import History

EGOS, GENERATOR, TRAINING, EMBEDDINGS = "egos", "generator", "training", "embeddings"
TOTAL = "total"
Emit = Callable[[dict[str, Any]], None]


class Stages:
    """Seconds between one stage's end and the next one's, told as soon as each ends."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.begin = self.last = time.perf_counter()
        self.told: set[str] = set()

    def end(self, name: str) -> None:
        """A stage has come to its end; what ends twice is told the first time."""
        if name not in self.told:
            now = time.perf_counter()
            self.told.add(name)
            self.tell(name, now - self.last, peak_mb())
            self.last = time.perf_counter()

    def tell(self, name: str, seconds: float, peak: float, note: str = "") -> None:
        """A row for the results."""
        row = {"side": name, "unit": "graph", "seconds": seconds, "units": 1, "repeats": 1}
        self.emit(row | {"whole": 1, "process_mb": peak, "note": note})


class _Timed(Gear):
    """Gear that says when its stages end."""

    def __init__(self, stages: Stages, **settings: Any) -> None:
        super().__init__(**settings)
        self.stages = stages

    def ego_index(
        self, graph: SensitiveGraph, nodes: Tensor | None = None, folder: Path | None = None
    ) -> EgoIndex:
        """As Gear does."""
        index = super().ego_index(graph, nodes, folder)
        self.stages.end(EGOS)
        return index

    def _keep_generator(self, data: GearData, history: History) -> Tensor:
        shift = super()._keep_generator(data, history)
        self.stages.end(GENERATOR)
        return shift


def run_pipeline(scene: Scene, emit: Emit) -> None:
    """All stages, then their sum; peak memory is the whole process's, the graph included."""
    graph, plan = scene.graph, scene.plan
    stages = Stages(emit)
    gear = _Timed(
        stages,
        seed=plan.seed,
        device=plan.device,
        steps=plan.steps,
        generator={"steps": plan.steps},
    )
    with TemporaryDirectory() as folder:
        gear.fit(graph, checkpoint=Path(folder, "checkpoint"))
        stages.end(TRAINING)
        write_table(gear, graph, Path(folder, "people.parquet"))
        stages.end(EMBEDDINGS)
    seconds, peak = time.perf_counter() - stages.begin, peak_mb()
    stages.tell(TOTAL, seconds, peak, _auroc(gear, graph))


def _auroc(gear: Gear, graph: SensitiveGraph) -> str:
    """How well the model does, on some test people: training must have been about something."""
    some = torch.nonzero(graph.test_mask)[:2000, 0]
    scores = gear.predict_proba(graph, nodes=some)[:, 1]
    return f"test AUROC {roc_auc_score(graph.y[some].numpy(), scores):.3f}"

"""A method small enough to be broken on purpose: logistic regression on smoothed features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.errors import GraphError
from fairgear.graph import rows_of
from fairgear.methods import Method
from fairgear.methods.base import Scores
from fairgear.methods.features import FeatureScaler
from fairgear.methods.trainable import check_trainable
from fairgear.settings import Config, Range
from fairgear.training import Checkpoint, Task, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors


@dataclass(frozen=True)
class SmallConfig(Config):
    """How much to smooth, and how long to train."""

    hops: Annotated[int, Range(0, 5)] = 1
    steps: Annotated[int, Range(1, 1000)] = 9


class SmallTask(Task):
    """Adam on drawn people."""

    def __init__(self, layer: nn.Linear, x: Tensor, y: Tensor) -> None:
        self.layer, self.x, self.y = layer, x, y
        self.modules = {"layer": layer}
        self.optimizers = {"layer": torch.optim.Adam(layer.parameters(), lr=0.3)}

    def draw(self) -> Tensor:
        return torch.randint(len(self.x), (20,))

    def step(self, number: int) -> dict[str, Tensor]:
        rows = self.draw()
        logits = self.layer(self.x[rows])[:, 0]
        loss = F.binary_cross_entropy_with_logits(logits, self.y[rows].float())
        self.optimizers["layer"].zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no type
        self.optimizers["layer"].step()
        return {"loss": loss.detach()}


class Small(Method):
    """Keeps every promise. Its parts are methods of its own, for others to break."""

    name = "small"
    config_type = SmallConfig
    config: SmallConfig
    _settings: SmallConfig
    task_type = SmallTask

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        self.check(graph)
        self.threshold_, self._settings = None, self.config
        self._build(graph.x.shape[1], graph.sens_column)
        order = self.order(graph)
        self.scaler.fit(graph, order)
        rows = order[self.learned_from(graph)[order]]
        task = self.task_type(self.layer, self.seen(graph)[rows], graph.y[rows])
        file = None
        if checkpoint is not None:
            file = Checkpoint(checkpoint / "small.safetensors", self.key(graph))
        train(
            task,
            steps=self.config.steps,
            seed=self.drawn_from(),
            description="small",
            checkpoint=file,
        )
        if file is not None:
            file.remove()
        self.threshold_ = 0.5
        return self

    def check(self, graph: SensitiveGraph) -> None:
        check_trainable(graph)
        if not graph.plain:
            got, allowed = "edges with directions or weights", "edges with neither"
            raise GraphError("a graph for small", got, allowed, "leave them out")

    def order(self, graph: SensitiveGraph) -> Tensor:
        return graph.node_id.argsort()

    def learned_from(self, graph: SensitiveGraph) -> Tensor:
        return graph.train_mask

    def drawn_from(self) -> int:
        return self.seed

    def key(self, graph: SensitiveGraph) -> str:
        return f"{self.config} {self.seed} {graph.fingerprint()}"

    def hops(self) -> int:
        return self._settings.hops

    def columns(self, graph: SensitiveGraph) -> Tensor:
        scaled: Tensor = self.scaler(graph)
        return scaled.double()

    def seen(self, graph: SensitiveGraph) -> Tensor:
        x, (source, target) = self.columns(graph), graph.edge_index
        degree = torch.bincount(target, minlength=len(x))[:, None]
        for _ in range(self.hops()):
            x = x.index_add(0, target, x[source]) / (1 + degree)
        return x.float()

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        self._fitted_threshold()
        with torch.no_grad():
            logits = self.layer(self.seen(graph))[:, 0].double()
        one = torch.sigmoid(logits)[rows_of(graph, nodes)].numpy()
        return np.stack([1 - one, one], axis=1)

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        self._fitted_threshold()
        return np.asarray(self.seen(graph)[rows_of(graph, nodes)].numpy())

    def _build(self, width: int, sens_column: int | None) -> None:
        self.scaler = FeatureScaler(width, sens_column)
        with seeded(self.drawn_from(), "initialisation"):
            self.layer = nn.Linear(len(self.scaler.mean), 1)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("scaler", self.scaler) | module_tensors("layer", self.layer)
        return tensors, {"width": self.scaler.width, "column": self.scaler.sens_column}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._build(facts["width"], facts["column"])
        load_module(path, "scaler", self.scaler, tensors)
        load_module(path, "layer", self.layer, tensors)

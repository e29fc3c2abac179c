"""A method of one's own: the nearer of two centres, among features shared with neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import fairgear as fg
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.methods import METHODS, Method
from fairgear.methods.base import Scores
from fairgear.methods.features import FeatureScaler
from fairgear.methods.saved import columns_of
from fairgear.methods.trainable import check_trainable
from fairgear.settings import Config, Range
from fairgear.tensor_files import take
from fairgear.training.checkpoints import load_module, module_tensors


@dataclass(frozen=True)
class CentersConfig(Config):
    """The settings, with their defaults."""

    hops: Annotated[int, Range(0, 10)] = 1
    """How often people's features are averaged with those of their neighbours."""


class Centers(Method):
    """Gives people the class whose average they are nearer to."""

    name = "centers"
    config_type = CentersConfig
    config: CentersConfig
    _settings: CentersConfig

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Learn scales from everybody's features, centres from training labels; nothing to stop."""
        check_trainable(graph)
        self.threshold_, self._settings = None, self.config
        # In the order of the ids, so that the order of the rows counts for nothing.
        order = graph.node_id.argsort()
        self._scaler = FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph, order)
        people = order[graph.train_mask[order]]
        seen, y = self._seen(graph)[people], graph.y[people]
        self._centers = torch.stack([seen[y == label].mean(dim=0) for label in (0, 1)])
        self.threshold_ = 0.5
        return self

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, 2), if people were spread around both centres alike."""
        self._fitted_threshold()
        seen = self._seen(graph)[rows_of(graph, nodes)]
        away = (seen[:, None] - self._centers).square().sum(dim=2)
        return np.asarray(torch.softmax(-away / 2, dim=1).numpy())

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """The averaged features (m, columns)."""
        self._fitted_threshold()
        return np.asarray(self._seen(graph)[rows_of(graph, nodes)].float().numpy())

    def _seen(self, graph: SensitiveGraph) -> Tensor:
        source, target = graph.edge_index
        x: Tensor = self._scaler(graph).double()
        degree = torch.bincount(target, minlength=len(x))[:, None]
        for _ in range(self._settings.hops):
            x = x.index_add(0, target, x[source]) / (1 + degree)
        return x

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {**module_tensors("scaler", self._scaler), "centers": self._centers}
        facts = {"features": self._scaler.width, "sens_column": self._scaler.sens_column}
        return tensors, facts

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._scaler = FeatureScaler(*columns_of(path, facts))
        load_module(path, "scaler", self._scaler, tensors)
        width = len(self._scaler.mean)
        self._centers = take(path, tensors, "centers", torch.Size([2, width]))


METHODS.add(Centers.name, Centers)

graph = fg.datasets.load("synthetic", seed=0)
own = Centers(hops=1).fit(graph)

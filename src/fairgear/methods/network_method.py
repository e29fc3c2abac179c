"""A method with a network: scores and representations from what it returns, and its state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Labels, Method, Scores
from fairgear.methods.features import FeatureScaler
from fairgear.methods.heads import Head
from fairgear.methods.saved import columns_of
from fairgear.methods.thresholds import HALF, most_accurate, most_accurate_offsets
from fairgear.tensor_files import damaged
from fairgear.training import History
from fairgear.training.checkpoints import load_module, module_tensors


class NetworkMethod(Method):
    """A method whose network returns representations and logits.

    After `fit`: `history_` (loss terms and validation over time, by stage) and `scaler_` (of the
    features).
    """

    scaler_: FeatureScaler

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}

    @abstractmethod
    def _build(self, width: int, sens_column: int | None) -> None:
        """Set `scaler_` and fresh networks, initialised from the seed, for x of `width` columns."""

    @abstractmethod
    def _networks(self) -> dict[str, nn.Module]:
        """What is saved besides the scaler, by name."""

    @abstractmethod
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Representations (m, dim) and logits (m,), or (m, classes) where there are several.

        On the CPU, for consecutive parts of `nodes`.
        """

    @property
    def head(self) -> Head:
        """From logits to answers."""
        return Head(self.target_)

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes); the graph may differ from the one in `fit`."""
        self._refuse_numbers()
        return self.scores(graph, nodes=nodes)

    def scores(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes), or numbers (m, 1)."""
        parts = [logits for _, logits in self.chunks(graph, nodes=nodes)]
        return self.head.answers(torch.cat(parts))

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim): what the classifier reads."""
        return np.concatenate([z.numpy() for z, _ in self.chunks(graph, nodes=nodes)])

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("scaler", self.scaler_)
        for name, module in self._networks().items():
            tensors |= module_tensors(name, module)
        facts = {
            "features": self.scaler_.width,
            "sens_column": self.scaler_.sens_column,
            "history": {name: history.as_dict() for name, history in self.history_.items()},
        }
        return tensors, facts

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._build(*columns_of(path, facts))
        load_module(path, "scaler", self.scaler_, tensors)
        for name, module in self._networks().items():
            load_module(path, name, module, tensors)
            module.eval()
        try:
            self.history_ = {name: History(**rows) for name, rows in facts["history"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(path) from error

    def _set_threshold(self, graph: SensitiveGraph, rule: str) -> None:
        """0.5 or the largest score; with the rule `validation` what is most accurate there."""
        self.threshold_ = HALF
        if rule == "validation" and not self.target_.is_number:
            scores = self.scores(graph, nodes=graph.val_mask)
            self._validated(graph.y[graph.val_mask].cpu().numpy(), scores)

    def _validated(self, y: Labels, scores: Scores) -> None:
        if self.target_.is_binary:
            self.threshold_ = most_accurate(y, scores[:, 1])
        else:
            self.offsets_ = most_accurate_offsets(y, scores)

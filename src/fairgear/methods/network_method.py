"""NetworkMethod: a method whose network gives representations and logits."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Method, Scores


class NetworkMethod(Method):
    """Probabilities and representations from what `_forward` gives."""

    @abstractmethod
    def _forward(self, graph: SensitiveGraph, nodes: Tensor | None) -> tuple[Tensor, Tensor]:
        """Representations (m, dim) and logits (m,) of `nodes` (default: all), on the CPU."""

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, 2); the graph may be another than the one in `fit`."""
        _, logits = self._forward(graph, nodes)
        # torch's own takes several numbers at once, and rounds one by its place among them.
        positive = expit(logits.double().numpy())
        return np.stack([1 - positive, positive], axis=1)

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim): what the classifier reads."""
        z, _ = self._forward(graph, nodes)
        return np.asarray(z.numpy())

"""NetworkMethod: a method whose network gives representations and logits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Method, Scores


class NetworkMethod(Method):
    """Probabilities and representations from what `_forward` gives."""

    @abstractmethod
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Representations (m, dim) and logits (m,) on the CPU, for runs of `nodes` in turn."""

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, 2); the graph may be another than the one in `fit`."""
        parts = [logits for _, logits in self.chunks(graph, nodes=nodes)]
        return probabilities(torch.cat(parts))

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim): what the classifier reads."""
        return np.concatenate([z.numpy() for z, _ in self.chunks(graph, nodes=nodes)])


def probabilities(logits: Tensor) -> Scores:
    """Of the classes 0 and 1, (m, 2)."""
    # torch's own takes several numbers at once, and rounds one by its place among them.
    positive = expit(logits.double().numpy())
    return np.stack([1 - positive, positive], axis=1)

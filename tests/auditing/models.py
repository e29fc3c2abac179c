"""Small models whose counterfactual behaviour is known without running anything."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import SensitiveGraph, datasets
from fairgear.auditing import Audit, Worlds, audit


def small_graph(n: int = 300, seed: int = 0) -> SensitiveGraph:
    """A synthetic graph with about eight neighbours a node, some of which depend on s."""
    return datasets.load("synthetic", n=n, seed=seed, threshold=0.3, a=0.05)


def measure(model: object, graph: SensitiveGraph | Worlds, **options: Any) -> Audit:
    """An audit of the numbers alone: no probes, no other causal models, no affected people."""
    few: dict[str, Any] = {
        "affected_people": 0,
        "what_if_people": 0,
        "other_causal_models": False,
        "probes": False,
    }
    if not isinstance(graph, Worlds):
        few["protocol"] = "released"
    return audit(model, graph, **{"self_people": 500, **few, **options})


class FakeModel(ABC):
    """Scores everyone by `score`; subclasses say how."""

    threshold_: float | None = 0.5

    @abstractmethod
    def score(self, graph: SensitiveGraph) -> Tensor: ...

    def predict_proba(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> NDArray[np.float64]:
        positive = self.score(graph).double().numpy()
        if nodes is not None:
            positive = positive[nodes.numpy()]
        return np.stack([1 - positive, positive], axis=1)


class Constant(FakeModel):
    def score(self, graph: SensitiveGraph) -> Tensor:
        return torch.full((len(graph.x),), 0.7)


class CopiesSens(FakeModel):
    def score(self, graph: SensitiveGraph) -> Tensor:
        return 0.1 + 0.8 * graph.sens.double()


class Unshifted(FakeModel):
    """Reads X − s·v, which no intervention moves."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self.v = graph.mechanism.v

    def score(self, graph: SensitiveGraph) -> Tensor:
        x = graph.x[:, 1:].double() - graph.sens.double()[:, None] * self.v
        # Rounded: x is stored in single precision, and a flip must not hang on its last bit.
        return torch.sigmoid(x.sum(dim=1).mul(1e4).round() / 1e4 + 1e-5)


class Features(FakeModel):
    """Reads a person's own features but not s itself."""

    def score(self, graph: SensitiveGraph) -> Tensor:
        return torch.sigmoid(graph.x[:, 1:].double().sum(dim=1))


class NeighborSens(FakeModel):
    """The mean s of the neighbours along the edges; a person without any gets 0.3."""

    def score(self, graph: SensitiveGraph) -> Tensor:
        source, target = graph.edge_index
        total = torch.zeros(len(graph.x), dtype=torch.float64)
        total.index_add_(0, source, graph.sens[target].double())
        count = torch.bincount(source, minlength=len(total))
        return torch.where(count > 0, total / count.clamp(min=1), torch.tensor(0.3))


class Everything(FakeModel):
    """Own features, own s and the neighbours': every intervention moves it."""

    def score(self, graph: SensitiveGraph) -> Tensor:
        around = NeighborSens().score(graph)
        own = graph.x.double().sum(dim=1) / 5
        return torch.sigmoid(own + 2 * around - 1)


class RememberedNeighborSens(FakeModel):
    """The mean s of those who are neighbours on one graph, whatever the edges are later."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self.edges = graph.edge_index

    def score(self, graph: SensitiveGraph) -> Tensor:
        return NeighborSens().score(graph.replace(edge_index=self.edges, mechanism=None))


class Noisy(FakeModel):
    """Draws its scores anew whenever it is asked."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def score(self, graph: SensitiveGraph) -> Tensor:
        return torch.rand(len(graph.x), generator=self.generator)


class NeedsEdges(FakeModel):
    """Fails where nobody has a neighbour."""

    def score(self, graph: SensitiveGraph) -> Tensor:
        return torch.full((len(graph.x),), 0.7) * (graph.edge_index.max() > 0)


class LastDigit(Features):
    """Ends in another last digit of single precision whenever it is asked.

    Estimators do when they are asked about one person instead of about many.
    """

    def __init__(self) -> None:
        self.asked = 0

    def score(self, graph: SensitiveGraph) -> Tensor:
        self.asked += 1
        return super().score(graph) * (1 - 6e-8 * (self.asked % 2))

"""What a classifier without a graph sees of each person: x with s, without it, or freed of it.

All are learned from all people, in the order of their ids, without labels. They are modules, so
that what they learned is saved with the classifier.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.methods.inputs import Erasure, FeatureScaler


class Unaware(nn.Module):
    """The columns of x but for the sensitive one, each at zero mean and unit variance.

    Args:
        width: columns of x, the sensitive one counted.
        sens_column: the column of x that holds s, if any.
    """

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__()
        own = width - (sens_column is not None)
        self.scaler = FeatureScaler(own, sens_column)
        self.outputs = own

    def fit(self, graph: SensitiveGraph, order: Tensor) -> Self:
        """Learn from all people, summed in `order`."""
        if len(self.scaler.mean) == 0:
            raise GraphError(
                "features to learn from",
                "none but the sensitive column",
                "at least one other column",
                "add features",
            )
        self.scaler.fit(graph, order)
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Features (n, outputs), float64: what a residual takes away must not come back."""
        self.scaler.check(graph)
        return (self.scaler.columns(graph.x) - self.scaler.mean) / self.scaler.scale


class Aware(Unaware):
    """All columns of x at zero mean and unit variance, the sensitive one last where x holds it."""

    sens_mean: Tensor
    sens_scale: Tensor

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__(width, sens_column)
        self.outputs = width
        self.register_buffer("sens_mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("sens_scale", torch.ones((), dtype=torch.float64))

    def fit(self, graph: SensitiveGraph, order: Tensor) -> Self:
        """Learn from all people, both groups among them, summed in `order`."""
        super().fit(graph, order)
        s = _sens(graph)[order]
        self.sens_mean.copy_(s.mean())
        self.sens_scale.copy_(s.std(correction=0))
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Features (n, outputs), float64."""
        x = super().forward(graph)
        if self.scaler.sens_column is None:
            return x
        s = (_sens(graph) - self.sens_mean) / self.sens_scale
        return torch.cat([x, s[:, None]], dim=1)


class Residual(Unaware):
    """x − (s − s̄)·v: what least squares on s leaves of each column.

    v is the slope, which for two groups is the difference of their means. s is that of the graph
    at hand: where s' moves the features by (s' − s)·v, that is what the new s' takes away again.
    """

    v: Tensor
    sens_mean: Tensor

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__(width, sens_column)
        self.register_buffer("v", torch.zeros(self.outputs, dtype=torch.float64))
        self.register_buffer("sens_mean", torch.zeros((), dtype=torch.float64))

    def fit(self, graph: SensitiveGraph, order: Tensor) -> Self:
        """Learn from all people, summed in `order`."""
        super().fit(graph, order)
        x, s = super().forward(graph)[order], _sens(graph)[order]
        self.sens_mean.copy_(s.mean())
        s = s - self.sens_mean
        self.v.copy_(s @ x / (s @ s))
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Features (n, outputs), float64."""
        return super().forward(graph) - (_sens(graph) - self.sens_mean)[:, None] * self.v


class Projected(Unaware):
    """x − v (u·x): without the direction v in which the groups' means differ, see `Erasure`.

    s is asked for in the fit alone.
    """

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__(width, sens_column)
        self.erasure = Erasure(self.outputs, 1.0).double()

    def fit(self, graph: SensitiveGraph, order: Tensor) -> Self:
        """Learn from all people, summed in `order`."""
        super().fit(graph, order)
        self.erasure.fit(super().forward(graph)[order], graph.sens.cpu()[order])
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Features (n, outputs), float64."""
        erased: Tensor = self.erasure(super().forward(graph), graph.sens.cpu())
        return erased


def _sens(graph: SensitiveGraph) -> Tensor:
    return graph.sens.cpu().double()

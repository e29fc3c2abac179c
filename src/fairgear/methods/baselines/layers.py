"""Layers that read the neighbours of people, and stacks of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.baselines.neighbors import Neighbors

# A layer, from its widths: its forward takes features (m, width_in) and `Neighbors`. What it
# returns for people whose neighbours are left out is meaningless.
GraphLayer = Callable[[int, int], nn.Module]


class GcnLayer(nn.Module):
    """Kipf and Welling: D^-½ (A + I) D^-½ X W + b."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x: Tensor, neighbors: Neighbors) -> Tensor:
        """New features (m, width_out)."""
        # The sum over neighbours is taken where rows are narrower; the result is the same.
        if self.linear.in_features <= self.linear.out_features:
            out: Tensor = self.linear(neighbors.normalized(x))
        else:
            out = neighbors.normalized(self.linear(x))
        return out + self.bias


class SageLayer(nn.Module):
    """GraphSAGE with the mean of the neighbours: mean(X) W₁ + X W₂ + b."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.around = nn.Linear(width_in, width_out)
        self.own = nn.Linear(width_in, width_out, bias=False)

    def forward(self, x: Tensor, neighbors: Neighbors) -> Tensor:
        """New features (m, width_out)."""
        out: Tensor = self.around(neighbors.mean(x)) + self.own(neighbors.own(x))
        return out


class GinLayer(nn.Module):
    """GIN: neighbours' sum plus (1 + ε) times the node itself, through a two-layer MLP."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        # Layer norm, since with batch norm a person's output would depend on the batch.
        self.mlp = nn.Sequential(
            nn.Linear(width_in, width_out),
            nn.LayerNorm(width_out),
            nn.ReLU(),
            nn.Linear(width_out, width_out),
        )

    def forward(self, x: Tensor, neighbors: Neighbors) -> Tensor:
        """New features (m, width_out)."""
        out: Tensor = self.mlp((1 + self.eps) * neighbors.own(x) + neighbors.sum(x))
        return out


class Stack(Protocol):
    """The settings of a stack of layers."""

    @property
    def layers(self) -> int:
        """How many."""
        ...

    @property
    def dim(self) -> int:
        """Their width."""
        ...

    @property
    def dropout(self) -> float:
        """Between them."""
        ...


class LayeredEncoder(nn.Module):
    """A stack of layers with ReLU and dropout between them, for people with `width` features."""

    def __init__(self, layer: GraphLayer, width: int, config: Stack) -> None:
        super().__init__()
        widths = [width] + [config.dim] * config.layers
        self.layers = nn.ModuleList(layer(before, after) for before, after in pairwise(widths))
        self.dropout = config.dropout

    def forward(self, x: Tensor, neighbors: Neighbors) -> Tensor:
        """Representations (m, dim)."""
        for number, layer in enumerate(self.layers):
            if number:
                x = F.dropout(F.relu(x), self.dropout, self.training)
            x = layer(x, neighbors)
            neighbors = neighbors.then or neighbors
        return x

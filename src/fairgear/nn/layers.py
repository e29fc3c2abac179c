"""Message-passing layers on dense ego batches, for all members or for the centre alone.

A layer sees x (B, k, d), adjacency (B, k, k) and mask (B, k); the centre is member 0. Padded
members have zero features and no edges, and leave every layer as zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

import torch
from torch import Tensor, nn
from torch_geometric.nn.dense import DenseGCNConv, DenseGINConv, DenseSAGEConv


class EgoLayer(nn.Module, ABC):
    """One layer of an ego encoder."""

    @abstractmethod
    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """New features (B, k, out) of all members."""

    @abstractmethod
    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features (B, out) of the centre: what `forward` gives for member 0, for 1/k of it."""


class SageLayer(EgoLayer):
    """GraphSAGE with the mean of the neighbours."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.conv = DenseSAGEConv(width_in, width_out)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """New features of all members."""
        return cast(Tensor, self.conv(x, adjacency, mask))

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        row = adjacency[:, :1]
        mean = torch.bmm(row, x) / row.sum(dim=-1, keepdim=True).clamp(min=1)
        out = self.conv.lin_rel(mean[:, 0]) + self.conv.lin_root(x[:, 0])
        return cast(Tensor, out)


class GcnLayer(EgoLayer):
    """GCN with self-loops and symmetric normalisation by the degrees within the ego."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.conv = DenseGCNConv(width_in, width_out)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """New features of all members."""
        return cast(Tensor, self.conv(x, adjacency, mask))

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        scale = (adjacency.sum(dim=-1) + 1).pow(-0.5)
        row = adjacency[:, 0] * scale
        row = torch.cat([row[:, :1] + scale[:, :1], row[:, 1:]], dim=1) * scale[:, :1]
        out = self.conv.lin(torch.bmm(row[:, None], x)[:, 0]) + self.conv.bias
        return cast(Tensor, out)


class GinLayer(EgoLayer):
    """GIN: the sum of the neighbours and (1 + ε) times oneself, through a two-layer MLP."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        # Layer norm, not batch norm: statistics over a batch would count the padded members.
        mlp = nn.Sequential(
            nn.Linear(width_in, width_out),
            nn.LayerNorm(width_out),
            nn.ReLU(),
            nn.Linear(width_out, width_out),
        )
        self.conv = DenseGINConv(mlp, train_eps=True)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """New features of all members."""
        return cast(Tensor, self.conv(x, adjacency, mask))

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        total = (1 + self.conv.eps) * x[:, 0] + torch.bmm(adjacency[:, :1], x)[:, 0]
        return cast(Tensor, self.conv.nn(total))

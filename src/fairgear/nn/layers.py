"""Message-passing layers on dense ego batches, for all members or for the centre alone.

A layer sees x (B, k, d), adjacency (B, k, k) and mask (B, k); the centre is member 0. Padded
members have zero features and no edges. With the mask, a layer returns zeros for them; without,
it returns arbitrary values, which saves a pass over all members. Nobody reads these values, since
padded members have no edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.dense import DenseGCNConv, DenseGINConv, DenseSAGEConv


class EgoLayer(nn.Module, ABC):
    """One layer of an ego encoder."""

    @abstractmethod
    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor | None = None) -> Tensor:
        """New features (B, k, out) of all members."""

    @abstractmethod
    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features (B, out) of the centre: `forward` at member 0, for 1/k of the cost."""


class SageLayer(EgoLayer):
    """GraphSAGE with the mean of the neighbours."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.conv = DenseSAGEConv(width_in, width_out)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor | None = None) -> Tensor:
        """New features of all members."""
        out = F.linear(*self.product(x, adjacency))
        return out if mask is None else out * mask[..., None]

    def product(self, x: Tensor, adjacency: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs (B, k, in) and weight (out, in) whose product is the new features.

        One product replaces PyG's two, their sum and the bias, so that the result, which is mostly
        far wider than the inputs, is written once. Widths are padded to a multiple of eight.
        """
        rel, root = self.conv.lin_rel, self.conv.lin_root
        mean = torch.bmm(_shares(adjacency), x)
        ones, gap = torch.ones_like(x[..., :1]), -(2 * x.shape[-1] + 1) % 8
        inputs = F.pad(torch.cat([mean, x, ones], dim=-1), (0, gap))
        weight = torch.cat([rel.weight, root.weight, root.bias[:, None]], dim=1)
        return inputs, F.pad(weight, (0, gap))

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        return self.from_rows(torch.bmm(self.rows(adjacency), x))

    def rows(self, adjacency: Tensor) -> Tensor:
        """The weights (B, 2, k) with which the centre reads each member: itself, and the mean.

        One product for both: with two, autograd would add two gradients of all of x.
        """
        itself = torch.zeros_like(adjacency[:, :1])
        itself[..., 0] = 1
        return torch.cat([itself, _shares(adjacency[:, :1])], dim=1)

    def from_rows(self, read: Tensor) -> Tensor:
        """New features of the centre from `rows @ x` (B, 2, in)."""
        own, mean = read.unbind(dim=1)
        return cast(Tensor, self.conv.lin_rel(mean) + self.conv.lin_root(own))


class GcnLayer(EgoLayer):
    """GCN with self-loops and symmetric normalisation by the degrees within the ego."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.conv = DenseGCNConv(width_in, width_out)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor | None = None) -> Tensor:
        """New features of all members.

        Written out: PyG's layer copies a number from CPU to GPU for its self-loops, which a CUDA
        graph cannot capture.
        """
        scale = (adjacency.sum(dim=-1, keepdim=True) + 1).pow(-0.5)
        sent = self.conv.lin(x) * scale
        out = (torch.bmm(adjacency, sent) + sent) * scale + self.conv.bias
        return cast(Tensor, out if mask is None else out * mask[..., None])

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        scale = (adjacency.sum(dim=-1) + 1).pow(-0.5)
        row = adjacency[:, 0] * scale
        row = torch.cat([row[:, :1] + scale[:, :1], row[:, 1:]], dim=1) * scale[:, :1]
        out = self.conv.lin(torch.bmm(row[:, None], x)[:, 0]) + self.conv.bias
        return cast(Tensor, out)


class GinLayer(EgoLayer):
    """GIN: neighbours' sum plus (1 + ε) times the node itself, through a two-layer MLP."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        # Layer norm, since batch statistics would include the padded members.
        mlp = nn.Sequential(
            nn.Linear(width_in, width_out),
            nn.LayerNorm(width_out),
            nn.ReLU(),
            nn.Linear(width_out, width_out),
        )
        self.conv = DenseGINConv(mlp, train_eps=True)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor | None = None) -> Tensor:
        """New features of all members."""
        return cast(Tensor, self.conv(x, adjacency, mask))

    def centre(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features of the centre."""
        total = (1 + self.conv.eps) * x[:, 0] + torch.bmm(adjacency[:, :1], x)[:, 0]
        return cast(Tensor, self.conv.nn(total))


def _shares(rows: Tensor) -> Tensor:
    """Rows (B, m, k) of the adjacency as weights of a mean; zero for nodes without neighbours."""
    return rows / rows.sum(dim=-1, keepdim=True).clamp(min=1)

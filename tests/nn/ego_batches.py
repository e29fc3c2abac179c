"""Ego batches made by hand, and the same batches padded further or with members reordered."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.methods.egos import Ego


def random_egos(batch: int = 6, k: int = 8, d: int = 5, seed: int = 0, density: float = 0.5) -> Ego:
    """Egos of 1 to k members; the first has one member only, the second all k."""
    draw = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, k + 1, (batch,), generator=draw)
    sizes[0], sizes[1] = 1, k
    mask = torch.arange(k) < sizes[:, None]
    pairs = mask[:, :, None] & mask[:, None, :]
    upper = torch.triu(torch.rand(batch, k, k, generator=draw) < density, diagonal=1) & pairs
    adjacency = (upper | upper.transpose(1, 2)).float()
    x = torch.randn(batch, k, d, generator=draw) * mask[..., None]
    sens = torch.randint(0, 2, (batch, k), generator=draw) * mask
    return Ego(x, sens, adjacency, mask)


def padded(ego: Ego, extra: int = 3) -> Ego:
    """The same egos with `extra` more columns of padding."""
    batch, k, d = ego.x.shape
    x = torch.zeros(batch, k + extra, d)
    x[:, :k] = ego.x
    sens = torch.zeros(batch, k + extra, dtype=ego.sens.dtype)
    sens[:, :k] = ego.sens
    adjacency = torch.zeros(batch, k + extra, k + extra)
    adjacency[:, :k, :k] = ego.adjacency
    mask = torch.zeros(batch, k + extra, dtype=torch.bool)
    mask[:, :k] = ego.mask
    return Ego(x, sens, adjacency, mask)


def reordered(ego: Ego, order: Tensor) -> Ego:
    """The same egos with member `order[i]` moved to place i."""
    adjacency = ego.adjacency[:, order][:, :, order]
    return Ego(ego.x[:, order], ego.sens[:, order], adjacency, ego.mask[:, order])


def centre_first_order(k: int, seed: int = 0) -> Tensor:
    """A random order of k members that leaves the centre where it is."""
    rest = torch.randperm(k - 1, generator=torch.Generator().manual_seed(seed)) + 1
    return torch.cat([torch.zeros(1, dtype=torch.int64), rest])

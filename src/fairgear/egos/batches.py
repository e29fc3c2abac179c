"""Dense batches of egos: what a network sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fairgear.egos.bits import unpack


@dataclass(frozen=True)
class EgoBatch:
    """Egos side by side, each padded to k members.

    Attributes:
        x: features (B, k, d), zero for padding.
        adjacency: (B, k, k) zeros and ones of the type of `x`; none at padding.
        mask: (B, k), true for members.
        n_id: (B, k) rows of the graph; for padding, the centre's.
        root_n_id: (B,) rows of the centres, which are member 0 of each ego.
    """

    x: Tensor
    adjacency: Tensor
    mask: Tensor
    n_id: Tensor
    root_n_id: Tensor

    def __len__(self) -> int:
        return len(self.root_n_id)

    def gather(self, values: Tensor) -> Tensor:
        """Per-node `values` (n, ...), such as `sens`, by member (B, k, ...); zero for padding."""
        return _gather(values, self.n_id, self.mask)


class Rows(Protocol):
    """The features of all nodes, as a tensor or as something that looks rows up."""

    @property
    def dtype(self) -> torch.dtype:
        """Their type."""

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Those of some nodes."""


def make_batch(ids: Tensor, mask: Tensor, words: Tensor, features: Tensor | Rows) -> EgoBatch:
    """A batch from rows of an index and the features (n, d) of all nodes."""
    n_id = ids.long()
    return EgoBatch(
        x=_gather(features, n_id, mask),
        adjacency=unpack(words).to(features.dtype),
        mask=mask,
        n_id=n_id,
        root_n_id=n_id[:, 0],
    )


def _gather(values: Tensor | Rows, n_id: Tensor, mask: Tensor) -> Tensor:
    taken = values[n_id]
    padding = ~mask.view(*mask.shape, *[1] * (taken.dim() - mask.dim()))
    return torch.where(padding, torch.zeros((), dtype=taken.dtype, device=taken.device), taken)

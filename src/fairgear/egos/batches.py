"""Dense batches of egos, and the adjacency among their members, packed in one word a member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fairgear.compiled import compiled, in_chunks
from fairgear.egos.push import Flags, Ints, Lists
from fairgear.graph.canonical import Canonical

# Bits of a word: the most members that an ego can have.
WIDTH = 64
CHUNK = 1024


@dataclass(frozen=True, repr=False)
class EgoBatch:
    """Egos side by side, each padded to k members.

    Attributes:
        x: features (B, k, d), zero for padding.
        adjacency: (B, k, k) zeros and ones of the type of `x`; zero for padding.
        mask: (B, k), true for members.
        n_id: (B, k) rows of the graph; for padding, the centre's.
        root_n_id: (B,) rows of the centres, which are member 0 of each ego.

    Example:
        >>> import torch
        >>> from fairgear.egos import EgoIndex
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> batch = EgoIndex.build(graph, k=5).batch(torch.tensor([0, 7]), graph.x)
        >>> tuple(batch.x.shape), tuple(batch.adjacency.shape)
        ((2, 5, 5), (2, 5, 5))
        >>> batch.root_n_id.tolist()
        [0, 7]
    """

    x: Tensor
    adjacency: Tensor
    mask: Tensor
    n_id: Tensor
    root_n_id: Tensor

    def __len__(self) -> int:
        return len(self.root_n_id)

    def __repr__(self) -> str:
        return f"EgoBatch(x={list(self.x.shape)}, {self.x.device})"

    def gather(self, values: Tensor) -> Tensor:
        """Per-node `values` (n, ...), such as `sens`, by member (B, k, ...); zero for padding."""
        return _gather(values, self.n_id, self.mask)


class Rows(Protocol):
    """The features of all nodes: a tensor, or something that looks rows up."""

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


def pack(canonical: Canonical, ids: Tensor, mask_of: Tensor) -> Tensor:
    """Words (m, k): bit j of entry [i, a] is set iff members a and j of ego i are linked.

    In a directed graph, iff j points to a.
    """
    indptr, indices = canonical.incoming[0]
    graph = indptr, indices, np.diff(indptr).astype(np.int32)
    members, mask = canonical.numbers[ids].numpy(), mask_of.numpy()
    return pack_members(graph, members, mask, directed=canonical.directed)


def pack_members(graph: Lists, members: Ints, mask: Flags, *, directed: bool = False) -> Tensor:
    """The same, from the numbers of the members in the graph."""
    words = np.zeros(members.shape, np.int64)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        _pack(graph, members[part], mask[part], directed, words[part])

    in_chunks(work, len(words), CHUNK, "ego adjacency")
    return torch.from_numpy(words)


def unpack(words: Tensor) -> Tensor:
    """Booleans (..., k, k) from words (..., k), on their device."""
    places = torch.arange(words.shape[-1], device=words.device)
    return ((words.unsqueeze(-1) >> places) & 1).bool()


@compiled
def _pack(graph: Lists, members: Ints, mask: Flags, directed: bool, words: Ints) -> None:
    indptr, indices, degrees = graph
    for row in range(len(members)):
        for a in range(members.shape[1]):
            if not mask[row, a]:
                continue
            first = indptr[members[row, a]]
            neighbours = indices[first : first + degrees[members[row, a]]]
            for b in range(members.shape[1] if directed else a):
                if not mask[row, b]:
                    continue
                at = np.searchsorted(neighbours, members[row, b])
                if at < len(neighbours) and neighbours[at] == members[row, b]:
                    words[row, a] |= np.int64(1) << b
                    if not directed:
                        words[row, b] |= np.int64(1) << a

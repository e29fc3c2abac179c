"""Adjacency among the members of egos, one 64-bit word a member."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairgear.compiled import compiled, in_chunks
from fairgear.egos.search import Flags
from fairgear.egos.table import Ints, Keys
from fairgear.graph.canonical import Canonical

WIDTH = 64
CHUNK = 1024


def pack(canonical: Canonical, ids: Tensor, mask_of: Tensor) -> Tensor:
    """Words (m, k): bit j of entry [i, a] is set iff members a and j of ego i are linked."""
    indptr, indices = canonical.csr
    members = canonical.numbers[ids].numpy()
    mask = mask_of.numpy()
    words = np.zeros(members.shape, np.int64)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        _pack(indptr, indices, members[part], mask[part], words[part])

    in_chunks(work, len(words), CHUNK, "ego adjacency")
    return torch.from_numpy(words)


def unpack(words: Tensor) -> Tensor:
    """Booleans (..., k, k) from words (..., k), on whatever device these are."""
    places = torch.arange(words.shape[-1], device=words.device)
    return ((words.unsqueeze(-1) >> places) & 1).bool()


@compiled
def _pack(indptr: Ints, indices: Keys, members: Ints, mask: Flags, words: Ints) -> None:
    for row in range(len(members)):
        for a in range(members.shape[1]):
            if not mask[row, a]:
                continue
            first, last = indptr[members[row, a]], indptr[members[row, a] + 1]
            neighbours = indices[first:last]
            for b in range(a):
                if not mask[row, b]:
                    continue
                at = np.searchsorted(neighbours, members[row, b])
                if at < len(neighbours) and neighbours[at] == members[row, b]:
                    words[row, a] |= np.int64(1) << b
                    words[row, b] |= np.int64(1) << a

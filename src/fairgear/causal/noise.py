"""Noise as a function: the same seed and node ids give the same number in every world."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.hashing import mix


def node_uniform(node_id: Tensor, seed: int, stream: str = "") -> Tensor:
    """One uniform number in [0, 1) a node, float64, by hashing (seed, stream, node id).

    Reordering the nodes reorders the numbers and changes none of them. Different `stream`s are
    independent of each other.
    """
    return torch.from_numpy(_uniform(node_hash(node_id.cpu().numpy(), seed, stream)))


def pair_uniform(
    first: NDArray[np.int64], second: NDArray[np.int64], seed: int, stream: str = ""
) -> NDArray[np.float64]:
    """One uniform number in [0, 1) a pair of node ids, the same for (i, j) and (j, i)."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return _uniform(mix(node_hash(low, seed, stream) ^ high.astype(np.uint64)))


def node_hash(node_id: NDArray[np.int64], seed: int, stream: str = "") -> NDArray[np.uint64]:
    """64 scrambled bits a node, of (seed, stream, node id)."""
    ids = node_id.astype(np.uint64)
    salt = np.array([seed % 2**64, *stream.encode()], dtype=np.uint64)
    state = np.full(len(ids), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for part in salt:
        state = mix(state ^ part)
    return mix(mix(state ^ ids))


def _uniform(hashed: NDArray[np.uint64]) -> NDArray[np.float64]:
    # The upper 53 bits fill a float64's mantissa exactly.
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53

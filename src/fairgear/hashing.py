"""Hashes of node ids as random numbers: the same in every world and on every machine."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that scrambles."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def node_uniform(node_id: Tensor, seed: int, stream: str = "") -> Tensor:
    """One uniform number in [0, 1) per node, float64: a hash of (seed, stream, node id).

    Reordering the nodes reorders the numbers and changes none of them. Different streams are
    independent.

    Example:
        >>> import torch
        >>> from fairgear.causal import node_uniform
        >>> first = node_uniform(torch.tensor([4, 9]), seed=0)
        >>> bool((node_uniform(torch.tensor([9, 4]), seed=0) == first.flip(0)).all())
        True
    """
    return torch.from_numpy(_uniform(node_hash(node_id.cpu().numpy(), seed, stream)))


def pair_uniform(
    first: NDArray[np.int64], second: NDArray[np.int64], seed: int, stream: str = ""
) -> NDArray[np.float64]:
    """One uniform number in [0, 1) per pair of node ids, the same for (i, j) and (j, i).

    Example:
        >>> import numpy as np
        >>> from fairgear.causal import pair_uniform
        >>> one, two = np.array([4]), np.array([9])
        >>> bool(pair_uniform(one, two, seed=0) == pair_uniform(two, one, seed=0))
        True
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return _uniform(mix(node_hash(low, seed, stream) ^ high.astype(np.uint64)))


def node_hash(node_id: NDArray[np.int64], seed: int, stream: str = "") -> NDArray[np.uint64]:
    """64 scrambled bits per node: a hash of (seed, stream, node id)."""
    ids = node_id.astype(np.uint64)
    salt = np.array([seed % 2**64, *stream.encode()], dtype=np.uint64)
    state = np.full(len(ids), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for part in salt:
        state = mix(state ^ part)
    return mix(mix(state ^ ids))


def _uniform(hashed: NDArray[np.uint64]) -> NDArray[np.float64]:
    # The upper 53 bits fill a float64's mantissa exactly.
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53

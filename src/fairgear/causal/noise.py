"""Noise as a function: the same seed and node id give the same number in every world."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairgear.hashing import mix


def node_uniform(node_id: Tensor, seed: int, stream: str = "") -> Tensor:
    """One uniform number in [0, 1) a node, float64, by hashing (seed, stream, node id).

    Reordering the nodes reorders the numbers and changes none of them. Different `stream`s are
    independent of each other.
    """
    ids = node_id.cpu().numpy().astype(np.uint64)
    salt = np.array([seed % 2**64, *stream.encode()], dtype=np.uint64)
    state = np.full(len(ids), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for part in salt:
        state = mix(state ^ part)
    hashed = mix(mix(state ^ ids))
    # The upper 53 bits fill a float64's mantissa exactly.
    return torch.from_numpy((hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53)

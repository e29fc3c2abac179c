"""Pairs of vectors whose cosine reaches a threshold, found block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.progress import bar

# A block of 2,048 × 16,384 float32 products is 128 MiB, whatever the number of nodes.
_ROWS, _COLUMNS = 2048, 16384
# Products in float32 are right to about 1e-6; every pair within this margin is looked at again.
_MARGIN = 1e-4


def cosine_pairs(
    vectors: NDArray[np.float64], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All pairs i < j with cos(vectors[i], vectors[j]) ≥ threshold: (2, m) and their cosines.

    A matrix product in float32 finds candidates; their cosine is then summed in float64, one pair
    at a time in the order of the dimensions, so that neither the blocks nor the order of the
    nodes can move a pair across the threshold.
    """
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    single = unit.astype(np.float32)
    n = len(unit)
    found_pairs, found_cosines = [], []
    with bar("comparing nodes", total=n) as progress:
        for top in range(0, n, _ROWS):
            rows = single[top : top + _ROWS]
            for left in range(top, n, _COLUMNS):
                products = rows @ single[left : left + _COLUMNS].T
                i, j = np.nonzero(products >= threshold - _MARGIN)
                i, j = i + top, j + left
                i, j = i[i < j], j[i < j]
                cosines = (unit[i] * unit[j]).sum(axis=1)
                keep = cosines >= threshold
                found_pairs.append(np.stack([i[keep], j[keep]]))
                found_cosines.append(cosines[keep])
            progress.advance(len(rows))
    return np.concatenate(found_pairs, axis=1), np.concatenate(found_cosines)

"""Personalised PageRank by powers of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]


def walk_matrix(
    indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> tuple[sparse.csr_array, Floats]:
    """A D⁻¹ of an undirected graph, and the degrees, 1 for who has nobody."""
    n = len(indptr) - 1
    degrees = np.maximum(np.diff(indptr), 1).astype(np.float64)
    weight = 1.0 / degrees[indices]
    return sparse.csr_array((weight, indices, indptr), shape=(n, n)), degrees


def power_walks(
    walk: sparse.csr_array,
    degrees: Floats,
    sources: NDArray[np.int64],
    alpha: float,
    tolerance: float,
) -> Floats:
    """Columns R[:, i] of `sources`: what has stopped after t steps, until little walks on.

    After t steps r = ((1−α) A D⁻¹)ᵗ e_i still walks; it ends where every r[u] ≤ tolerance ·
    degree(u), as a push does.
    """
    left = np.zeros((walk.shape[0], len(sources)))
    left[sources, np.arange(len(sources))] = 1.0
    settled = alpha * left
    while (left > tolerance * degrees[:, None]).any():
        left = (1 - alpha) * (walk @ left)
        settled += alpha * left
    return settled

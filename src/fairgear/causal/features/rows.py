"""Products of rows with a matrix, in which a row's result does not depend on the other rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_FEW = 256


def products(rows: Floats, matrix: Floats) -> Floats:
    """`rows @ matrix`, summed column by column.

    A library's matrix product rounds otherwise for one row than for many, and the world of one
    person must agree with everybody's to the bit.
    """
    if matrix.ndim == 1 and len(matrix) > 0 and len(rows) < _FEW:
        # The same sums with fewer calls; adding 0 makes −0 the 0 that the loop gives.
        found: Floats = np.cumsum(rows * matrix, axis=1)[:, -1] + 0.0
        return found
    total = np.zeros((len(rows), *matrix.shape[1:]))
    for k in range(len(matrix)):
        total += np.multiply.outer(rows[:, k], matrix[k])
    return total

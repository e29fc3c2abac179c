"""The compiled part of similarity graphs: squared distances, row by row, in the columns' order.

Each squared distance is summed over the columns in their order, with nothing fused and nothing
reordered, so that it does not depend on blocks, threads or the order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Columns of a tile: a row's sums over one tile stay in the first cache.
_TILE = 1024


@compiled
def squared_distances(columns: Floats, row: int, out: Floats) -> None:
    """out[j] = squared distance of rows `row` and j; infinite from a row to itself.

    Args:
        columns: the table, transposed: (c, n), contiguous.
        row: the row.
        out: (n,), overwritten.
    """
    width, n = columns.shape
    for left in range(0, n, _TILE):
        right = min(left + _TILE, n)
        sums = out[left:right]
        sums[:] = 0.0
        for k in range(width):
            here = columns[k, row]
            values = columns[k, left:right]
            for j in range(right - left):
                difference = values[j] - here
                sums[j] += difference * difference
    out[row] = np.inf


@compiled
def rows_above(
    columns: Floats,
    start: int,
    stop: int,
    threshold: float,
    closest: Floats,
    nearest: Integers,
    limit: int,
) -> tuple[Integers, Integers]:
    """The pairs (i, j), i in [start, stop), that i's own rule joins; fills closest and nearest.

    Stops early, with more than `limit` pairs, where the threshold joins too many.
    """
    n = columns.shape[1]
    distances = np.empty(n)
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for i in range(start, stop):
        squared_distances(columns, i, distances)
        best, where = np.inf, -1
        for j in range(n):
            if distances[j] < best:
                best, where = distances[j], j
        closest[i], nearest[i] = best, where
        if where < 0:
            continue
        needed = threshold * (1.0 / (1.0 + np.sqrt(best)))
        # A hair above the distance at which the rule turns: spares the other pairs the root.
        reach = reach_of(needed)
        for j in range(n):
            if distances[j] <= reach and 1.0 / (1.0 + np.sqrt(distances[j])) > needed:
                if count == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[count], second[count] = i, j
                count += 1
        if count > limit:
            break
    return first[:count].copy(), second[:count].copy()


@compiled
def rows_joined(
    columns: Floats, rows: Integers, threshold: float, closest: Floats, changed: NDArray[np.bool_]
) -> tuple[Integers, Integers]:
    """The pairs (i, j), i in `rows`, that i's rule or j's joins, given everyone's `closest`.

    Where both ends are in `rows` (marked in `changed`), only i < j is given.
    """
    n = columns.shape[1]
    distances = np.empty(n)
    needed = threshold * (1.0 / (1.0 + np.sqrt(closest)))
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for i in rows:
        squared_distances(columns, i, distances)
        for j in range(n):
            least = min(needed[i], needed[j])
            if distances[j] <= reach_of(least) and 1.0 / (1.0 + np.sqrt(distances[j])) > least:
                if changed[j] and j < i:
                    continue
                if count == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[count], second[count] = i, j
                count += 1
    return first[:count].copy(), second[:count].copy()


@compiled
def reach_of(needed: float) -> float:
    """A squared distance beyond which no similarity exceeds `needed`, rounding included."""
    if needed <= 0.0:
        return np.finfo(np.float64).max
    distance = (1.0 / needed - 1.0) * (1.0 + 1e-9) + 1e-9
    return distance * distance

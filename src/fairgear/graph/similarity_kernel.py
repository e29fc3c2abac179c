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

# Rows of a tile: the sums over one stay in the first cache.
_TILE = 1024
# Rows compared with a tile before the next is read.
_GROUP = 4


@compiled
def squared_distances(columns: Floats, start: int, stop: int, out: Floats) -> None:
    """out[i − start, j] = squared distance of rows i in [start, stop) and j; infinite for j = i.

    Args:
        columns: the table, transposed: (c, n), contiguous.
        start, stop: the rows.
        out: (at least stop − start, n), overwritten.
    """
    n = columns.shape[1]
    for left in range(0, n, _TILE):
        right = min(left + _TILE, n)
        for i in range(start, stop):
            _tile(columns, i, left, right, out[i - start])
    for i in range(start, stop):
        out[i - start, i] = np.inf


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
    group = np.empty((_GROUP, n))
    near = np.empty(n, dtype=np.int64)
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for i in range(start, stop):
        place = (i - start) % _GROUP
        if place == 0:
            squared_distances(columns, i, min(i + _GROUP, stop), group)
        distances = group[place]
        where = _lowest(distances)
        if where < 0:
            continue
        closest[i], nearest[i] = distances[where], where
        needed = threshold * (1.0 / (1.0 + np.sqrt(closest[i])))
        # A hair above the distance at which the rule turns: spares the other pairs the root.
        for at in range(_within(distances, reach_of(needed), near)):
            j = near[at]
            if 1.0 / (1.0 + np.sqrt(distances[j])) > needed:
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
    held = np.empty((1, n))
    distances = held[0]
    needed = threshold * (1.0 / (1.0 + np.sqrt(closest)))
    reach = np.empty(n)
    for j in range(n):
        reach[j] = reach_of(needed[j])
    near = np.empty(n, dtype=np.int64)
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for i in rows:
        squared_distances(columns, i, i + 1, held)
        found = 0
        for j in range(n):
            near[found] = j
            found += distances[j] <= max(reach[i], reach[j])
        for at in range(found):
            j = near[at]
            if changed[j] and j < i:
                continue
            if 1.0 / (1.0 + np.sqrt(distances[j])) > min(needed[i], needed[j]):
                if count == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[count], second[count] = i, j
                count += 1
    return first[:count].copy(), second[:count].copy()


@compiled
def _tile(columns: Floats, row: int, left: int, right: int, out: Floats) -> None:
    """out[left:right] = squared distances of `row` to these rows.

    Four columns at a time, added in their order: the sum is loaded and stored a fourth as often.
    """
    width = columns.shape[0]
    sums = out[left:right]
    sums[:] = 0.0
    whole = width - width % 4
    for k in range(0, whole, 4):
        a, b, c, d = columns[k, row], columns[k + 1, row], columns[k + 2, row], columns[k + 3, row]
        va, vb = columns[k, left:right], columns[k + 1, left:right]
        vc, vd = columns[k + 2, left:right], columns[k + 3, left:right]
        for j in range(right - left):
            p, q, r, s = va[j] - a, vb[j] - b, vc[j] - c, vd[j] - d
            sums[j] = (((sums[j] + p * p) + q * q) + r * r) + s * s
    for k in range(whole, width):
        here, values = columns[k, row], columns[k, left:right]
        for j in range(right - left):
            difference = values[j] - here
            sums[j] += difference * difference


@compiled
def _lowest(distances: Floats) -> int:
    """The first place of the least of some numbers that are not negative; −1 if all are infinite.

    As bits, such numbers have the same order, and the least of integers is found eight at a time.
    """
    bits = distances.view(np.int64)
    least = bits[0]
    for j in range(len(bits)):
        least = min(least, bits[j])
    for j in range(len(bits)):
        if bits[j] == least:
            return j if distances[j] < np.inf else -1
    return -1


@compiled
def _within(distances: Floats, reach: float, near: Integers) -> int:
    """Fills `near` with the places of distances up to `reach`; returns how many.

    Apart from what is done with them: in one loop with the root and the division, the compiler
    works these out for every pair.
    """
    found = 0
    for j in range(len(distances)):
        near[found] = j
        found += distances[j] <= reach
    return found


@compiled
def reach_of(needed: float) -> float:
    """A squared distance beyond which no similarity exceeds `needed`, rounding included."""
    if needed <= 0.0:
        return np.finfo(np.float64).max
    distance = (1.0 / needed - 1.0) * (1.0 + 1e-9) + 1e-9
    return distance * distance

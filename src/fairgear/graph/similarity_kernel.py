"""The compiled part of similarity graphs: squared distances of rows that can be near each other.

Each squared distance is summed over the columns in their order, with nothing fused and nothing
reordered, so that it does not depend on blocks, threads or the order of the rows.

Rows are sorted by one column, the lead. A rounded sum of terms that are not negative is never below
one of them, so no row is nearer than its squared difference in the lead alone: what is beyond can
be skipped, and nothing is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows of a tile: the sums over one stay in the first cache.
TILE = 128


@compiled
def rows_above(
    columns: Floats,
    lead: int,
    order: Integers,
    start: int,
    stop: int,
    threshold: float,
    closest: Floats,
    nearest: Integers,
    limit: int,
) -> tuple[Integers, Integers]:
    """The pairs (i, j) that i's own rule joins, for i at the places [start, stop).

    Fills closest and nearest; of rows at the same distance the lowest is the nearest. Stops early,
    with more than `limit` pairs, where the threshold joins too many.

    Args:
        columns: the table, transposed and sorted by its column `lead`: (c, n), contiguous.
        lead: that column.
        order: (n,), the row at each place of `columns`.
        start, stop: the places.
        threshold: the rule's.
        closest, nearest: (n,), by row.
        limit: of the pairs.
    """
    distances = np.empty(columns.shape[1])
    near = np.empty(columns.shape[1], dtype=np.int64)
    own = np.empty(1, dtype=np.int64)
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for place in range(start, stop):
        i, point = order[place], columns[:, place].copy()
        own[0] = place
        low, high, least = _outward(columns, lead, point, place, own, distances)
        if least == np.inf:
            continue
        closest[i], nearest[i] = least, _lowest(distances, low, high, least, order)
        needed = threshold * (1.0 / (1.0 + np.sqrt(least)))
        # A hair above the distance at which the rule turns: spares the other pairs the root.
        reach = reach_of(needed)
        low, high = _extended(columns, lead, point, low, high, reach, own, distances)
        for at in range(_within(distances, low, high, reach, near)):
            if 1.0 / (1.0 + np.sqrt(distances[near[at]])) > needed:
                first, second = _roomy(first, count), _roomy(second, count)
                first[count], second[count] = i, order[near[at]]
                count += 1
        if count > limit:
            break
    return first[:count].copy(), second[:count].copy()


@compiled
def least_distances(
    columns: Floats, lead: int, points: Floats, places: Integers, barred: Integers, values: Floats
) -> Floats:
    """The squared distance of each point to the nearest row, after some rows moved.

    Args:
        columns, lead: as for `rows_above`, before the move.
        points: (t, c): the moved rows, in the order of `values`, and then others.
        places: (t,), those of the others; −1 for the moved.
        barred: (m,), where the moved rows were.
        values: (m, c), where they are now.
    """
    distances = np.empty(columns.shape[1])
    result = np.empty(len(points))
    own = np.append(barred, np.int64(-1))
    for t in range(len(points)):
        own[-1] = start = places[t]
        if start < 0:
            start = int(np.searchsorted(columns[lead], points[t, lead]))
        result[t] = _outward(columns, lead, points[t], start, own, distances)[2]
        for m in range(len(values)):
            if m != t or places[t] >= 0:
                result[t] = min(result[t], _between(points[t], values[m]))
    return result


@compiled
def rows_nearer(
    columns: Floats,
    lead: int,
    tops: Floats,
    closest: Floats,
    barred: Integers,
    values: Floats,
    most: int,
) -> tuple[Integers, Floats]:
    """The places of rows to which a moved row is nearer than any was, and how near; may repeat.

    Stops early, with more than `most`.

    Args:
        columns, lead, barred, values: as for `least_distances`.
        tops: of each tile, the largest of `closest`.
        closest: (n,), by place, before the move.
        most: of the places.
    """
    n = columns.shape[1]
    distances = np.empty(n)
    found = np.empty(1024, dtype=np.int64)
    least = np.empty(1024)
    count = 0
    for m in range(len(values)):
        for tile in range(len(tops)):
            left, right = tile * TILE, min(tile * TILE + TILE, n)
            if _gap(columns[lead], left, right, values[m, lead]) >= tops[tile]:
                continue
            _tile(columns, values[m], left, right, barred, distances)
            for place in range(left, right):
                if distances[place] < closest[place]:
                    found, least = _roomy(found, count), _roomy(least, count)
                    found[count], least[count] = place, distances[place]
                    count += 1
        if count > most:
            break
    return found[:count].copy(), least[:count].copy()


@compiled
def rows_joined(
    columns: Floats,
    lead: int,
    tops: Floats,
    closest: Floats,
    threshold: float,
    points: Floats,
    needed: Floats,
    barred: Integers,
) -> tuple[Integers, Integers]:
    """The pairs (t, place) of a point and a row that the rule of either joins.

    Args:
        columns, lead, tops, closest: as for `rows_nearer`.
        threshold: the rule's.
        points: (t, c).
        needed: (t,), the similarity that each requires.
        barred: places that are left out.
    """
    n = columns.shape[1]
    distances = np.empty(n)
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    widest = np.empty(len(tops))
    for tile in range(len(tops)):
        widest[tile] = reach_of(threshold * (1.0 / (1.0 + np.sqrt(tops[tile]))))
    for t in range(len(points)):
        reach = reach_of(needed[t])
        for tile in range(len(tops)):
            left, right = tile * TILE, min(tile * TILE + TILE, n)
            farthest = max(reach, widest[tile])
            if _gap(columns[lead], left, right, points[t, lead]) > farthest:
                continue
            _tile(columns, points[t], left, right, barred, distances)
            for place in range(left, right):
                if distances[place] > farthest:
                    continue
                other = threshold * (1.0 / (1.0 + np.sqrt(closest[place])))
                if 1.0 / (1.0 + np.sqrt(distances[place])) > min(needed[t], other):
                    first, second = _roomy(first, count), _roomy(second, count)
                    first[count], second[count] = t, place
                    count += 1
    return first[:count].copy(), second[:count].copy()


@compiled
def points_joined(points: Floats, needed: Floats) -> tuple[Integers, Integers]:
    """The pairs of points that the rule of either joins, each once."""
    first = np.empty(1024, dtype=np.int64)
    second = np.empty(1024, dtype=np.int64)
    count = 0
    for t in range(len(points)):
        for other in range(t):
            apart = _between(points[t], points[other])
            if 1.0 / (1.0 + np.sqrt(apart)) > min(needed[t], needed[other]):
                first, second = _roomy(first, count), _roomy(second, count)
                first[count], second[count] = t, other
                count += 1
    return first[:count].copy(), second[:count].copy()


@compiled
def _outward(
    columns: Floats, lead: int, point: Floats, start: int, barred: Integers, out: Floats
) -> tuple[int, int, float]:
    """The least squared distance of a point to the rows, those at the places `barred` aside.

    Tiles are read from `start`, the point's own place, outward, until the lead alone is farther.
    Returns the places [low, high) that were read, whose distances are in `out`, and the least.
    """
    low = high = start
    least = np.inf
    key, here, n = columns[lead], point[lead], columns.shape[1]
    more = True
    while more:
        more = False
        if high < n and (key[high] - here) ** 2 <= least:
            right = min(high + TILE, n)
            least = min(least, _tile(columns, point, high, right, barred, out))
            high, more = right, True
        if low > 0 and (key[low - 1] - here) ** 2 <= least:
            left = max(low - TILE, 0)
            least = min(least, _tile(columns, point, left, low, barred, out))
            low, more = left, True
    return low, high, least


@compiled
def _extended(
    columns: Floats,
    lead: int,
    point: Floats,
    low: int,
    high: int,
    reach: float,
    barred: Integers,
    out: Floats,
) -> tuple[int, int]:
    """Reads on from [low, high) to all places that can be within `reach`; returns the range."""
    key, here, n = columns[lead], point[lead], columns.shape[1]
    while high < n and (key[high] - here) ** 2 <= reach:
        _tile(columns, point, high, min(high + TILE, n), barred, out)
        high = min(high + TILE, n)
    while low > 0 and (key[low - 1] - here) ** 2 <= reach:
        _tile(columns, point, max(low - TILE, 0), low, barred, out)
        low = max(low - TILE, 0)
    return low, high


@compiled
def _gap(key: Floats, left: int, right: int, here: float) -> float:
    """No row at the places [left, right) is nearer than this squared difference in the lead."""
    if here < key[left]:
        return float((key[left] - here) ** 2)
    return float((key[right - 1] - here) ** 2) if here > key[right - 1] else 0.0


@compiled
def _tile(
    columns: Floats, point: Floats, left: int, right: int, barred: Integers, out: Floats
) -> float:
    """out[left:right] = squared distances of a point to these rows, infinite for barred ones.

    Returns the least. Four columns at a time, added in their order: the sum is loaded and stored a
    fourth as often.
    """
    width = columns.shape[0]
    sums = out[left:right]
    sums[:] = 0.0
    whole = width - width % 4
    for k in range(0, whole, 4):
        a, b, c, d = point[k], point[k + 1], point[k + 2], point[k + 3]
        va, vb = columns[k, left:right], columns[k + 1, left:right]
        vc, vd = columns[k + 2, left:right], columns[k + 3, left:right]
        for j in range(right - left):
            p, q, r, s = va[j] - a, vb[j] - b, vc[j] - c, vd[j] - d
            sums[j] = (((sums[j] + p * p) + q * q) + r * r) + s * s
    for k in range(whole, width):
        here, values = point[k], columns[k, left:right]
        for j in range(right - left):
            difference = values[j] - here
            sums[j] += difference * difference
    for place in barred:
        if left <= place < right:
            out[place] = np.inf
    # As bits, numbers that are not negative have the same order; integers are compared faster.
    bits = sums.view(np.int64)
    least = bits[0]
    for j in range(right - left):
        least = min(least, bits[j])
    at = 0
    while bits[at] != least:
        at += 1
    return float(sums[at])


@compiled
def _between(first: Floats, second: Floats) -> float:
    """The squared distance of two points, as `_tile` sums it."""
    total = 0.0
    for k in range(len(first)):
        difference = first[k] - second[k]
        total += difference * difference
    return total


@compiled
def _lowest(distances: Floats, low: int, high: int, least: float, order: Integers) -> int:
    """The lowest row at this distance, which one has."""
    found = np.iinfo(np.int64).max
    for place in range(low, high):
        if distances[place] == least:
            found = min(found, order[place])
    return int(found)


@compiled
def _within(distances: Floats, low: int, high: int, reach: float, near: Integers) -> int:
    """Fills `near` with the places from low to high within `reach`; returns how many.

    Apart from what is done with them: in one loop with the root and the division, the compiler
    works these out for every pair.
    """
    found = 0
    for place in range(low, high):
        near[found] = place
        found += distances[place] <= reach
    return found


@compiled
def _roomy(values: NDArray[Any], count: int) -> NDArray[Any]:
    """The array, twice as long if `count` fill it."""
    return values if count < len(values) else np.concatenate((values, np.empty_like(values)))


@compiled
def reach_of(needed: float) -> float:
    """A squared distance beyond which no similarity exceeds `needed`, rounding included."""
    if needed <= 0.0:
        return np.finfo(np.float64).max
    distance = (1.0 / needed - 1.0) * (1.0 + 1e-9) + 1e-9
    return distance * distance

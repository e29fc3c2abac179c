"""Compiled code of the edge model: the likeness of pairs, and which pairs may gain an edge.

Sums run over the columns in order, nothing is fused or reordered: results do not depend on blocks,
threads, or which end of a pair comes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

# People in a tile: one row's sums over a tile fit into the first-level cache.
_TILE = 1024
_GAMMA, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_LOG2E = 1.4426950408889634
# Far above the rounding error of a logit, and small enough to let few extra pairs through.
_SLACK = 1e-6


@compiled
def likeness(
    columns: Floats, scale: Floats, cosine: bool, first: Integers, second: Integers, out: Floats
) -> None:
    """out[m] = the likeness of the people first[m] and second[m].

    1/(1 + √Σ_k ((x_ik − x_jk)·scale_k)²), or Σ_k x_ik x_jk with `cosine`. Differences are taken
    before scaling, so two people who move by the same amount keep their distance exactly.

    Args:
        columns: (d, n), the transposed table; for the cosine, with people of unit length.
        scale: (d,), not used for the cosine.
        cosine: which of the two.
        first, second: the pairs.
        out: overwritten.
    """
    for m in range(len(first)):
        out[m] = _alike(columns, scale, cosine, first[m], second[m])


@compiled
def likely_pairs(
    columns: Floats,
    scale: Floats,
    cosine: bool,
    slope: float,
    lift: Floats,
    sens: Integers,
    ids: Hashes,
    keys: Hashes,
    settled: int,
    start: int,
    stop: int,
) -> tuple[Integers, Integers]:
    """Every pair with a changed person whose noise u may lie below its probability p.

    No other pair can gain an edge, since that requires u < p. The list holds a few pairs too many:
    p would cost an exponential, so the test is u ≤ 2^t with t = logit/ln 2, and log₂ u is bounded
    from below by the bits of u read as an integer.

    Args:
        columns, scale, cosine: as in `likeness`, in the new world.
        slope: of the logit on the likeness.
        lift: (2, groups, n): the rest of the logit, lift[0, s_i, i] + lift[1, s_i, j], or more.
        sens: (n,), of the new world: places in `lift`.
        ids, keys: node ids, and their hashes with the seed.
        settled: the number of unchanged people. They come first; both parts are sorted by id.
        start, stop: the changed people to search, counted from `settled`.
    """
    n = columns.shape[1]
    alike, noise = np.empty(_TILE), np.empty(_TILE)
    found_i = np.empty(1024, dtype=np.int64)
    found_j = np.empty(1024, dtype=np.int64)
    count = 0
    for i in range(settled + start, settled + stop):
        base, rest = lift[0, sens[i], i], lift[1, sens[i]]
        # A pair of two changed people is found once, by the first of them.
        lower = _below(ids, settled, ids[i])
        for part in range(3):
            left = 0 if part == 0 else (lower if part == 1 else i + 1)
            right = lower if part == 0 else (settled if part == 1 else n)
            for low in range(left, right, _TILE):
                high = min(low + _TILE, right)
                _tile(columns, scale, cosine, i, low, high, alike)
                if part == 0:
                    _noise(keys[low:high], ids[i], noise)
                else:
                    _noise(ids[low:high], keys[i], noise)
                bits = noise.view(np.int64)
                for j in range(high - low):
                    logit = base + slope * alike[j] + rest[low + j]
                    reach = (logit + _SLACK + 1e-9 * abs(logit)) * _LOG2E
                    if bits[j] < (reach + 1023.0) * 2.0**52:
                        if count == len(found_i):
                            found_i = np.concatenate((found_i, np.empty_like(found_i)))
                            found_j = np.concatenate((found_j, np.empty_like(found_j)))
                        found_i[count], found_j[count] = i, low + j
                        count += 1
    return found_i[:count].copy(), found_j[:count].copy()


@compiled
def likely_nearby(
    columns: Floats,
    scale: Floats,
    cosine: bool,
    slope: float,
    lift: Floats,
    sens: Integers,
    ids: Hashes,
    keys: Hashes,
    begin: Integers,
    ends: Integers,
    hub: int,
    rows: Integers,
    near: Integers,
) -> tuple[Integers, Integers]:
    """As `likely_pairs`, but only pairs of a changed person with a candidate, and no edges.

    The noise comes first: nearly all pairs are refused by it, whatever their likeness.

    Args:
        columns, scale, cosine, slope, lift, sens, ids, keys: as there, all sorted by id.
        begin, ends: where the neighbours of each person begin, and the neighbours.
        hub: nobody is sought through a person with more neighbours than this.
        rows: the changed people to search.
        near: (rows, ·), the nearest people of each.
    """
    # For whom a person was last looked at.
    seen = np.full(columns.shape[1], -1, dtype=np.int64)
    found_i = np.empty(1024, dtype=np.int64)
    found_j = np.empty(1024, dtype=np.int64)
    count = 0
    most = abs(slope) if cosine else max(slope, 0.0)
    noise = np.empty(1)
    bits = noise.view(np.int64)
    for place in range(len(rows)):
        i = rows[place]
        base, rest = lift[0, sens[i], i], lift[1, sens[i]]
        seen[i] = i
        seen[ends[begin[i] : begin[i + 1]]] = i
        for at in range(begin[i] - 1, begin[i + 1]):
            # The nearest first, then the neighbours of each neighbour.
            others = near[place]
            if at >= begin[i]:
                low, high = begin[ends[at]], begin[ends[at] + 1]
                if high - low > hub:
                    continue
                others = ends[low:high]
            for j in others:
                if seen[j] == i:
                    continue
                seen[j] = i
                low_end, high_end = min(i, j), max(i, j)
                _noise(keys[low_end : low_end + 1], ids[high_end], noise)
                if bits[0] >= _reach(base + most + rest[j]):
                    continue
                alike = _alike(columns, scale, cosine, i, j)
                if bits[0] < _reach(base + slope * alike + rest[j]):
                    if count == len(found_i):
                        found_i = np.concatenate((found_i, np.empty_like(found_i)))
                        found_j = np.concatenate((found_j, np.empty_like(found_j)))
                    found_i[count], found_j[count] = i, j
                    count += 1
    return found_i[:count].copy(), found_j[:count].copy()


@compiled
def _reach(logit: float) -> float:
    """What the bits of a noise that may lie below a probability are below; see `likely_pairs`."""
    return ((logit + _SLACK + 1e-9 * abs(logit)) * _LOG2E + 1023.0) * 2.0**52


@compiled
def _alike(columns: Floats, scale: Floats, cosine: bool, i: int, j: int) -> float:
    """The likeness of two people."""
    total = 0.0
    for k in range(columns.shape[0]):
        if cosine:
            total += columns[k, i] * columns[k, j]
        else:
            difference = (columns[k, i] - columns[k, j]) * scale[k]
            total += difference * difference
    return total if cosine else 1.0 / (1.0 + np.sqrt(total))


@compiled
def _tile(
    columns: Floats, scale: Floats, cosine: bool, i: int, low: int, high: int, out: Floats
) -> None:
    """The likeness of person i to the people from low to high."""
    sums = out[: high - low]
    sums[:] = 0.0
    for k in range(columns.shape[0]):
        here, values = columns[k, i], columns[k, low:high]
        if cosine:
            for j in range(high - low):
                sums[j] += values[j] * here
        else:
            factor = scale[k]
            for j in range(high - low):
                difference = (values[j] - here) * factor
                sums[j] += difference * difference
    if not cosine:
        for j in range(high - low):
            sums[j] = 1.0 / (1.0 + np.sqrt(sums[j]))


@compiled
def _noise(parts: Hashes, other: int, out: Floats) -> None:
    """`hashing.pair_uniform` of one person with many others."""
    for j in range(len(parts)):
        state = (parts[j] ^ other) + _GAMMA
        state = (state ^ (state >> _S30)) * _FIRST
        state = (state ^ (state >> _S27)) * _SECOND
        state = state ^ (state >> _S31)
        out[j] = np.float64(np.int64(state >> _S11)) * 2.0**-53


@compiled
def _below(ids: Hashes, count: int, value: int) -> int:
    """How many of the first `count` ids, sorted as signed integers, lie below `value`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if np.int64(ids[middle]) < np.int64(value):
            low = middle + 1
        else:
            high = middle
    return low

"""Pairs of a similarity graph among the nearest rows only: a tree instead of every pair."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from fairgear.compiled import threads
from fairgear.graph.similarity_kernel import Floats, Integers
from fairgear.progress import bar

_CHUNK = 8192


def nearest_pairs(table: Floats, threshold: float, neighbors: int) -> Integers:
    """Pairs (2, m) that a row's own rule joins, among its `neighbors` nearest rows.

    The tree finds the candidates; their distances are then summed anew in the order of the
    columns, so that a pair kept here is one that comparing every pair would keep. Of rows at the
    same distance at the last place some are taken, by their order in the table.
    """
    n = len(table)
    tree = cKDTree(table)
    count = min(neighbors + 1, n)
    parts: list[Integers] = [np.empty((2, 0), dtype=np.int64)]
    with bar("finding the nearest rows", total=n) as shown:
        for start in range(0, n, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n))
            _, found = tree.query(table[rows], k=list(range(1, count + 1)), workers=threads())
            parts.append(_joined(table, rows, np.asarray(found, np.int64), threshold, neighbors))
            shown.advance(len(rows))
    return np.concatenate(parts, axis=1)


def _joined(
    table: Floats, rows: Integers, found: Integers, threshold: float, neighbors: int
) -> Integers:
    distances = np.zeros(found.shape)
    for column in table.T:
        difference = column[found] - column[rows][:, None]
        distances += difference * difference
    distances[found == rows[:, None]] = np.inf
    # Among many copies of a row the row itself may not be found; the farthest then goes.
    own = (found == rows[:, None]).any(axis=1)
    if found.shape[1] > neighbors:
        distances[~own, -1] = np.inf
    similarity = 1.0 / (1.0 + np.sqrt(distances))
    needed = threshold * similarity.max(axis=1, keepdims=True)
    i, place = np.nonzero(similarity > needed)
    return np.stack([rows[i], found[i, place]])

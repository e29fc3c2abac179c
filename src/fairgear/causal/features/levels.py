"""Categories in indicator columns: a person has one level before and after they are moved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def levels_of(table: Floats, group: tuple[int, ...], ends: Floats) -> Integers:
    """Each person's level: which of the columns is at its higher end.

    Columns may be scaled or standardised, so "high" is judged between the two ends (2, d).
    """
    columns = list(group)
    low, span = ends[0, columns], ends[1, columns] - ends[0, columns]
    height = (table[:, columns] - low) / np.where(span > 0, span, 1.0)
    return np.asarray(height.argmax(axis=1), dtype=np.int64)


def set_levels(table: Floats, levels: Integers, group: tuple[int, ...], ends: Floats) -> None:
    """Write `levels` into the indicator columns, in place."""
    for level, column in enumerate(group):
        table[:, column] = ends[(levels == level).astype(np.int64), column]


def shares(levels: Integers, cells: Integers, count: int, cell_count: int) -> Floats:
    """P(level | cell), (cells, levels)."""
    found = np.zeros((cell_count, count))
    np.add.at(found, (cells, levels), 1.0)
    found /= found.sum(axis=1, keepdims=True)
    return found


def coupled(levels: Integers, before: Floats, after: Floats, noise: Floats) -> Integers:
    """The levels under another law, by the coupling that changes the fewest people's.

    Levels have no order, so a coupling by ranks would move people between whatever levels stand
    next to each other in the table. Here a person keeps their level unless there are fewer
    of it under the other law; who must leave goes where there are more.

    Args:
        levels: (n,).
        before, after: each person's law of the level (n, levels), in their own cell and in the
            other one.
        noise: one uniform number a person.
    """
    each = np.arange(len(levels))
    mine, other = before[each, levels], after[each, levels]
    # A level that nobody of the own cell has is kept if the other cell has it.
    stay = np.where(mine > 0, np.minimum(other / np.where(mine > 0, mine, 1.0), 1.0), other > 0)
    leaves = noise >= stay
    gain = np.maximum(after - before, 0.0)
    gain = np.where(gain.sum(axis=1, keepdims=True) > 0, gain, after)
    total = np.cumsum(gain, axis=1)
    place = (noise - stay) / np.where(leaves, 1.0 - stay, 1.0) * total[:, -1]
    found = (total <= place[:, None]).sum(axis=1)
    # Rounding may reach past the last level that gains.
    last = gain.shape[1] - 1 - (gain[:, ::-1] > 0).argmax(axis=1)
    return np.where(leaves, np.minimum(found, last), levels)

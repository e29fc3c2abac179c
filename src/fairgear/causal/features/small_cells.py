"""Small groups of several attributes: shrunk to what each attribute does by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.columns import Columns
from fairgear.graph.attributes import SMALL_GROUP

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def filled(
    table: Floats, cells: Integers, columns: Columns, few: Sequence[int]
) -> tuple[Floats, Integers]:
    """The table with enough rows in every cell of several attributes, and the cells of its rows.

    A cell of fewer than `SMALL_GROUP` people gets rows of other people, evenly in their order.
    Their numbers are moved by the main effects: the difference of what a regression on the values
    of each attribute, without interactions, gives the two cells. The columns `few`, of few values,
    and categories stay. A cell without anybody has these rows alone.
    """
    counts = np.bincount(cells, minlength=len(columns.crossed))
    small = np.flatnonzero(counts < SMALL_GROUP)
    if not columns.crossed or not len(small):
        return table, cells
    aside = {*few, *(place for group in columns.categories for place in group)}
    moving = [place for place in range(table.shape[1]) if place not in aside]
    means = main_effects(table[:, moving], cells, columns.crossed)
    tables, groups = [table], [cells]
    for cell in small.tolist():
        others = np.flatnonzero(cells != cell)
        wanted = min(SMALL_GROUP - int(counts[cell]), len(others))
        lent = others[np.arange(wanted) * len(others) // wanted]
        rows = table[lent]
        rows[:, moving] += means[cell] - means[cells[lent]]
        tables.append(rows)
        groups.append(np.full(wanted, cell, dtype=np.int64))
    return np.concatenate(tables), np.concatenate(groups)


def main_effects(table: Floats, cells: Integers, crossed: Sequence[tuple[int, ...]]) -> Floats:
    """(cells, d): what the values of each attribute alone, added up, say of every column."""
    codes = np.array(crossed)
    design = np.concatenate(
        [
            np.ones((len(codes), 1)),
            *((column[:, None] == range(1, column.max() + 1)) for column in codes.T),
        ],
        axis=1,
    )
    weights = np.sqrt(np.bincount(cells, minlength=len(codes)))[:, None]
    sums = np.stack(
        [np.bincount(cells, column, minlength=len(codes)) for column in table.T], axis=1
    )
    means = sums / np.maximum(weights, 1) ** 2
    effects = np.linalg.lstsq(design * weights, means * weights, rcond=None)[0]
    found: Floats = design @ effects
    return found

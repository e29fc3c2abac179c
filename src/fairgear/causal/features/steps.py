"""Laws of a column in steps: the probability of values up to each point of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST = 129


def steps_of(values: Floats) -> tuple[Floats, Mask]:
    """A grid over a column's values, and which of its steps hold one value only: atoms.

    The grid holds all values if they are few, else quantiles, and each value that many people
    share together with the next lower one, so that such a value has a step to itself.
    """
    distinct, counts = np.unique(values, return_counts=True)
    grid = distinct
    if len(distinct) > MOST:
        quantiles = np.quantile(values, np.linspace(0, 1, MOST), method="inverted_cdf")
        shared = np.flatnonzero(counts > len(values) / MOST)
        grid = np.unique([*quantiles, *distinct[shared], *distinct[np.maximum(shared - 1, 0)]])
    return grid, np.bincount(np.searchsorted(grid, distinct), minlength=len(grid)) == 1


def ranks(grid: Floats, atom: Mask, law: Floats, values: Floats, noise: Floats) -> Floats:
    """P(X ≤ value) under each person's law (n, k); within an atom, a place that is drawn."""
    step = np.minimum(np.searchsorted(grid, values), len(grid) - 1)
    below = np.append(grid[0], grid[:-1])
    width = np.where(grid > below, grid - below, 1.0)
    place = np.clip((values - below[step]) / width[step], 0.0, 1.0)
    place = np.where(atom[step], noise, place)
    each = np.arange(len(values))
    low = np.where(step > 0, law[each, step - 1], 0.0)
    found: Floats = low + place * (law[each, step] - low)
    return found


def at_ranks(grid: Floats, atom: Mask, law: Floats, rank: Floats) -> Floats:
    """The values of these ranks under each person's law (n, k)."""
    step = np.minimum((law <= rank[:, None]).sum(axis=1), len(grid) - 1)
    each, below = np.arange(len(rank)), np.append(grid[0], grid[:-1])
    low = np.where(step > 0, law[each, step - 1], 0.0)
    share = law[each, step] - low
    place = np.clip((rank - low) / np.where(share > 0, share, 1.0), 0.0, 1.0)
    inside = below[step] + place * (grid[step] - below[step])
    found: Floats = np.where(atom[step], grid[step], inside)
    return found

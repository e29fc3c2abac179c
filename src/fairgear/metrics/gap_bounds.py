"""Bounds of gaps between groups over every group that people of unknown group could be of.

Of two groups' means the first exceeds the second most where the unknown people with the largest
values are in the first and those with the smallest in the second: exchanging two who are placed
otherwise never lowers the gap. So, with k people in the first, one assignment has to be looked at;
all k are. Answers are held as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.metrics.inputs import Floats, Integers

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class GapBounds:
    """The least and the largest gap over all assignments; NaN where a group has nobody in any.

    Attributes:
        least: the gap is never less.
        largest: of some assignment.
        exact: whether `least` is that of some assignment too.
    """

    least: float
    largest: float
    exact: bool

    @classmethod
    def over(cls, each: Sequence[GapBounds]) -> GapBounds:
        """Of the largest of several gaps."""
        known = [one for one in each if not math.isnan(one.largest)]
        least = max((one.least for one in known), default=math.nan)
        largest = max((one.largest for one in known), default=math.nan)
        return cls(least, largest, len(known) == 1 and known[0].exact)


def gap_bounds(values: NDArray[Any], group: Integers, known: Mask, groups: int) -> GapBounds:
    """Of the largest difference of two groups' means.

    With two groups, `largest` is exact, and so is `least` where values are 0 and 1 or where no
    assignment turns the gap round. With more, `largest` is exact, and `least` is the largest of
    the pairs' least gaps, which need not come together.

    Args:
        values: of each person, such as whether the answer is 1.
        group: from 0; not read where unknown.
        known: whose group is.
        groups: how many there are.
    """
    pairs = combinations(range(groups), 2)
    return GapBounds.over([_pair(values, group, known, pair, groups == 2) for pair in pairs])


def _pair(
    values: NDArray[Any], group: Integers, known: Mask, pair: tuple[int, int], only: bool
) -> GapBounds:
    sides = [values[known & (group == one)].astype(np.float64) for one in pair]
    free = np.sort(values[~known].astype(np.float64))
    up = _most(sides[0], sides[1], free, only)
    down = _most(sides[1], sides[0], free, only)
    if math.isnan(up) or math.isnan(down):
        return GapBounds(math.nan, math.nan, False)
    largest = max(up, down)
    if not only and not (len(sides[0]) and len(sides[1])):
        # Without people in one of them, this pair has no gap.
        return GapBounds(0.0, largest, False)
    if min(up, down) <= 0:
        # Of the same sign in every assignment.
        return GapBounds(max(0.0, -min(up, down)), largest, only)
    rates = only and all(bool(np.isin(part, (0, 1)).all()) for part in (*sides, free))
    return GapBounds(_least_rates(sides[0], sides[1], free) if rates else 0.0, largest, rates)


def _most(first: Floats, second: Floats, free: Floats, only: bool) -> float:
    """The largest mean(first) − mean(second); everybody is in one of the two where `only`."""
    count = np.arange(len(free) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        highest = (first.sum() + np.append(0.0, free[::-1].cumsum())) / (len(first) + count)
        lowest = (second.sum() + np.append(0.0, free.cumsum())) / (len(second) + count)
    if not only:
        # Some of those who are left may be in other groups.
        lowest = np.fmin.accumulate(lowest)
    gaps = highest - lowest[::-1]
    return float(np.nanmax(gaps)) if not np.isnan(gaps).all() else math.nan


def _least_rates(first: Floats, second: Floats, free: Floats) -> float:
    """The least |difference| of two rates over all assignments.

    With i hits and j misses of the unknown in the first group, the difference falls in j. So for
    each i the least is beside the place where it changes sign, which is found by bisection.
    """
    n1, n2, h1, h2 = len(first), len(second), int(first.sum()), int(second.sum())
    hits = int(free.sum())
    misses = len(free) - hits
    i = np.arange(hits + 1)
    # Neither group may be empty.
    low = np.where(n1 + i == 0, 1, 0)
    high = np.where(n2 + hits - i == 0, misses - 1, misses)
    i, low, high = i[low <= high], low[low <= high], high[low <= high]

    def parts(j: Integers) -> tuple[Integers, Integers, Integers, Integers]:
        return h1 + i, n1 + i + j, h2 + hits - i, n2 + hits - i + misses - j

    # The first j with a negative difference is in begin to end; whole numbers, so no rounding.
    begin, end = low, high + 1
    while (unsure := begin < end).any():
        middle = np.minimum((begin + end) // 2, high)
        a, m, b, n = parts(middle)
        negative = a * n < b * m
        begin = np.where(unsure & ~negative, middle + 1, begin)
        end = np.where(unsure & negative, middle, end)
    found = []
    for j in (np.maximum(begin - 1, low), np.minimum(begin, high)):
        a, m, b, n = parts(j)
        found.append(np.abs(a / m - b / n).min())
    return float(min(found))

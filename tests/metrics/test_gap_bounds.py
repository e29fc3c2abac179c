"""Bounds of gaps are compared with every assignment of the unknown people."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgear.metrics.gap_bounds import GapBounds, gap_bounds

Case = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_], int]


def brute_force(
    values: NDArray[Any], group: NDArray[np.int64], known: NDArray[np.bool_], groups: int
) -> tuple[float, float]:
    """The least and the largest gap over all assignments in which two groups have people."""
    found = []
    for chosen in product(range(groups), repeat=int((~known).sum())):
        full = group.copy()
        full[~known] = chosen
        means = [values[full == g].mean() if (full == g).any() else math.nan for g in range(groups)]
        gaps = [abs(a - b) for a, b in combinations(means, 2) if not math.isnan(a - b)]
        found += [max(gaps)] if gaps else []
    return (min(found), max(found)) if found else (math.nan, math.nan)


def drawn(seed: int, groups: int, most: int, *, numbers: bool = False) -> Case:
    rng = np.random.default_rng(seed)
    unknown = int(rng.integers(0, most + 1))
    told = int(rng.integers(0, 9))
    n = unknown + max(told, 1)
    known = np.arange(n) >= unknown
    values = rng.normal(size=n) if numbers else rng.integers(0, 2, size=n)
    return values, rng.integers(0, groups, size=n), known, groups


@pytest.mark.parametrize("seed", range(40))
def test_two_groups(seed: int) -> None:
    case = drawn(seed, 2, 7)
    found = gap_bounds(*case)
    assert (found.least, found.largest) == pytest.approx(brute_force(*case), nan_ok=True, abs=1e-12)
    assert found.exact or math.isnan(found.largest)


def test_ten_unknown() -> None:
    values = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0])
    case = (values, np.arange(17) % 2, np.arange(17) >= 10, 2)
    found = gap_bounds(*case)
    assert (found.least, found.largest) == pytest.approx(brute_force(*case), abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_several_groups(seed: int) -> None:
    case = drawn(seed, 3, 4)
    found, (least, largest) = gap_bounds(*case), brute_force(*case)
    assert found.largest == pytest.approx(largest, nan_ok=True, abs=1e-12)
    assert math.isnan(least) or found.least <= least + 1e-12
    assert not found.exact


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("groups", [2, 3])
def test_numbers(seed: int, groups: int) -> None:
    case = drawn(seed, groups, 4, numbers=True)
    found, (least, largest) = gap_bounds(*case), brute_force(*case)
    assert found.largest == pytest.approx(largest, nan_ok=True, abs=1e-12)
    assert math.isnan(least) or found.least <= least + 1e-12
    if found.exact:
        assert found.least == pytest.approx(least, abs=1e-12)


def test_all_known() -> None:
    values, group = np.array([1, 0, 1, 1]), np.array([0, 0, 1, 1])
    found = gap_bounds(values, group, np.ones(4, dtype=bool), 2)
    assert found == GapBounds(0.5, 0.5, True)


def test_the_largest_of_several_gaps() -> None:
    one, other = GapBounds(0.1, 0.4, True), GapBounds(0.2, 0.3, True)
    assert GapBounds.over([one, other]) == GapBounds(0.2, 0.4, False)
    assert GapBounds.over([one, GapBounds(math.nan, math.nan, False)]) == one

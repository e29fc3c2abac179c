"""The search for the smallest set, against all sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.auditing.what_if.subsets import Search, Set, Tried

Law = Callable[[Set], float]


def search(law: Law, count: int, cut: float, **more: tuple[int, int]) -> tuple[Search, list[Set]]:
    asked: list[Set] = []

    def ask(sets: Sequence[Set]) -> list[Tried]:
        asked.extend(sets)
        return [Tried(law(one) > cut, law(one), law(one)) for one in sets]

    return Search(count, ask, **more), asked


def drawn(count: int, seed: int) -> tuple[Law, float]:
    """Effects of single parts and of pairs, and a cut that all of them together exceed."""
    rng = np.random.default_rng(seed)
    one, two = rng.normal(0.3, 1, count), np.triu(rng.normal(0, 0.7, (count, count)), 1)

    def law(parts: Set) -> float:
        at = list(parts)
        return float(one[at].sum() + two[np.ix_(at, at)].sum())

    return law, law(tuple(range(count))) - float(rng.random())


@given(st.integers(1, 7), st.integers(0, 10**6))
def test_no_smaller_set_brings_another_answer(count: int, seed: int) -> None:
    law, cut = drawn(count, seed)
    if law(()) > cut:
        return
    looked, _ = search(law, count, cut)
    found, exact = looked.smallest()
    assert exact
    assert law(found) > cut
    for size in range(len(found)):
        assert all(law(one) <= cut for one in combinations(range(count), size))


@given(st.integers(2, 9), st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 12))
def test_with_few_trials_no_part_is_idle(count: int, seed: int, steps: int, exact: int) -> None:
    law, cut = drawn(count, seed)
    if law(()) > cut:
        return
    looked, asked = search(law, count, cut, most=(steps, exact))
    found, _ = looked.smallest()
    assert law(found) > cut
    for idle in found:
        rest = tuple(part for part in found if part != idle)
        assert not rest or law(rest) <= cut
    # Nothing is asked twice.
    assert len(set(asked)) == len(asked)


def test_few_trials_are_few() -> None:
    """Of a hundred parts that count alike, half are needed."""
    looked, asked = search(lambda parts: float(len(parts)), 100, 49.5, most=(300, 100))
    found, exact = looked.smallest()
    assert len(found) == 50
    assert not exact
    # Step by step, then by halves, then without each part.
    assert len(asked) <= 100 + 99 + 98 + 97 + 7 + 50


def test_thousands_of_parts_take_few_more_trials() -> None:
    """One more than a third of them is needed; those that pull back are left out."""
    signs = [1.0 if part % 3 else -1.0 for part in range(3000)]
    looked, asked = search(lambda parts: sum(signs[part] for part in parts), 3000, 999.5)
    found, exact = looked.smallest()
    assert len(found) == 1000
    assert all(part % 3 for part in found)
    assert not exact
    assert len(asked) < 3000 + 2999 + 20 + 1100


@pytest.mark.parametrize("alone", [True, False])
def test_a_pair_that_works_together(alone: bool) -> None:
    """Two parts that do nothing by themselves: adding one at a time misleads."""

    def law(parts: Set) -> float:
        together = 10.0 * ({3, 5} <= set(parts))
        return together + 1.5 * len(set(parts) & {0, 1, 2}) + (0.0 if alone else 0.1 * len(parts))

    looked, _ = search(law, 7, 4.0)
    assert looked.smallest() == ((3, 5), True)

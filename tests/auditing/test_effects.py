from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.auditing.effects import ScoreMoves, by_person
from fairgear.metrics.inputs import Floats

# Quarters, so that sums are exact and some moves are none; NaN is somebody who took no part.
MOVES = [-0.75, -0.25, 0.0, 0.5, math.nan]


def worlds_of(draws: list[int], people: int, seed: int) -> list[Floats]:
    """Random moves, everybody in at least one draw of each world."""
    rng = np.random.default_rng(seed)
    found = []
    for count in draws:
        moves = rng.choice(MOVES, size=(count, people))
        moves[0] = np.where(np.isnan(moves).all(axis=0), 0.5, moves[0])
        found.append(moves)
    return found


def person(worlds: list[Floats], at: int) -> tuple[float, ...]:
    """Shift, share and sum of the rises, share and sum of the falls of one person, by loops."""
    totals = [0.0] * 5
    for world in worlds:
        moves = [float(m) for m in world[:, at] if not math.isnan(m)]
        each = (
            sum(moves),
            sum(m > 0 for m in moves),
            sum(m for m in moves if m > 0),
            sum(m < 0 for m in moves),
            -sum(m for m in moves if m < 0),
        )
        for i, value in enumerate(each):
            totals[i] += value / len(moves) / len(worlds)
    return tuple(totals)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 6), st.integers(0, 10**6)
)
def test_every_person_by_loops(draws: list[int], people: int, seed: int) -> None:
    worlds = worlds_of(draws, people, seed)
    moves = ScoreMoves.of(worlds)
    for at in range(people):
        got = (moves.shift[at], moves.rising[at], moves.up[at], moves.falling[at], moves.down[at])
        assert got == pytest.approx(person(worlds, at))
    assert moves.size == pytest.approx(np.mean(moves.up + moves.down))
    assert (moves.up - moves.down).tolist() == pytest.approx(moves.shift.tolist())
    assert (moves.rising + moves.falling <= 1 + 1e-12).all()


def test_rise_and_fall_are_among_those_who_move() -> None:
    moves = ScoreMoves.of([np.array([[0.5, -0.25, 0.0, 0.25]])])
    assert (moves.rise, moves.fall) == (0.375, 0.25)
    assert moves.size == 0.25
    assert float(moves.shift.mean()) == 0.125


def test_where_nobody_moves_there_is_no_mean() -> None:
    moves = ScoreMoves.of([np.zeros((2, 3))])
    assert math.isnan(moves.rise)
    assert math.isnan(moves.fall)
    assert moves.size == 0
    rises = ScoreMoves.of([np.full((1, 3), 0.5)])
    assert rises.rise == 0.5
    assert math.isnan(rises.fall)


def test_a_draw_without_somebody_does_not_count_for_them() -> None:
    part = np.array([[True, True], [False, True]])
    assert by_person(np.array([[1.0, 1.0], [9.0, 0.0]]), part).tolist() == [1.0, 0.5]

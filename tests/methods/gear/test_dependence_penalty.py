"""The dependence penalty finds the weight that keeps R² at its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.methods.gear.loss import DependencePenalty, adjusted


@settings(max_examples=25)
@given(st.floats(0.05, 0.6), st.floats(0.01, 0.5))
def test_it_ends_where_r2_is_at_the_limit(free: float, limit: float) -> None:
    # A world in which a weight w holds R² down to free / (1 + w), a fifth of the way each look.
    penalty, r2 = DependencePenalty(limit, 400), free
    for _ in range(1000):
        penalty.update(r2, steps=20)
        r2 += (free / (1 + float(penalty.weight)) - r2) / 5
    expected = max(0.0, min(10.0, free / (limit + 4 / 400) - 1))
    assert float(penalty.weight) == pytest.approx(expected, abs=0.02)


def test_there_is_none_while_the_limit_is_kept() -> None:
    penalty = DependencePenalty(0.02, 400)
    for r2 in (0.01, 0.03, 0.0):
        penalty.update(r2, steps=20)
        assert float(penalty.weight) == 0
        assert penalty.price(r2) == 0


def test_it_presses_at_once_and_gathers() -> None:
    penalty = DependencePenalty(0.03, 400)
    for times in (1, 2):
        penalty.update(0.06, steps=20)
        assert float(penalty.weight) == pytest.approx(0.5 * (1.4 + times * 20 * 0.014))
    penalty.update(0.02, steps=20)
    # What has gathered stays for a while, and nothing is ever pushed up.
    assert float(penalty.integral) == pytest.approx(0.5 * 20 * 0.014)
    assert float(penalty.weight) == 0
    assert penalty.price(0.06) == pytest.approx(10 * 0.02)


def test_a_limit_of_one_is_none() -> None:
    assert not DependencePenalty(1.0, 50).active
    assert DependencePenalty(0.0, 50).active


def test_what_independent_people_show_by_chance_is_no_excess() -> None:
    drawn = np.random.default_rng(1)
    people = 200
    found = [np.corrcoef(a, b)[0, 1] ** 2 for a, b in drawn.normal(size=(4000, 2, people))]
    penalty = DependencePenalty(0.0, people)
    priced = np.mean([penalty.price(float(r2)) > 0 for r2 in found])
    assert priced == pytest.approx(0.05, abs=0.015)


def test_an_excess_is_relative_to_a_limit_that_is_not_tiny() -> None:
    penalty = DependencePenalty(0.0, 4000)
    penalty.update(0.011, steps=20)
    assert float(penalty.weight) == pytest.approx(1.0 * (1.4 + 20 * 0.014))


def test_what_chance_alone_would_have_is_taken_off() -> None:
    drawn = np.random.default_rng(0)
    pairs = drawn.normal(size=(4000, 2, 12))
    found = [np.corrcoef(a, b)[0, 1] ** 2 for a, b in pairs]
    assert np.mean(found) > 0.08
    assert np.mean([adjusted(one, 12) for one in found]) == pytest.approx(0.0, abs=0.01)
    assert adjusted(1.0, 2) == 0.0

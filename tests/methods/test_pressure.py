"""Pressure: a multiplier that finds what weight keeps R² at its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.methods.pressure import Pressure, adjusted


@given(st.floats(0.05, 0.6), st.floats(0.01, 0.5))
def test_it_ends_where_r2_is_at_the_limit(free: float, limit: float) -> None:
    # A world in which a weight w holds R² down to free / (1 + w), a fifth of the way each look.
    pressure, r2 = Pressure(limit), free
    for _ in range(1000):
        pressure.heed(r2, steps=20)
        r2 += (free / (1 + float(pressure.weight)) - r2) / 5
    expected = max(0.0, min(10.0, free / limit - 1))
    assert float(pressure.weight) == pytest.approx(expected, abs=0.02)


def test_there_is_none_while_the_limit_is_kept() -> None:
    pressure = Pressure(0.03)
    for r2 in (0.01, 0.03, 0.0):
        pressure.heed(r2, steps=20)
        assert float(pressure.weight) == 0
        assert pressure.price(r2) == 0


def test_it_presses_at_once_and_gathers() -> None:
    pressure = Pressure(0.04)
    for times in (1, 2):
        pressure.heed(0.06, steps=20)
        assert float(pressure.weight) == pytest.approx(0.5 * (1.4 + times * 20 * 0.014))
    pressure.heed(0.02, steps=20)
    # What has gathered stays for a while, and nothing is ever pushed up.
    assert float(pressure.held) == pytest.approx(0.5 * 20 * 0.014)
    assert float(pressure.weight) == 0
    assert pressure.price(0.06) == pytest.approx(10 * 0.02)


def test_logits_weigh_more_as_r2_is_pressed() -> None:
    pressure = Pressure(0.03)
    assert float(pressure.firmness) == 1
    pressure.weight.fill_(2.5)
    assert float(pressure.firmness) == 1.625


def test_a_limit_of_one_is_none() -> None:
    assert not Pressure(1.0).limited
    assert Pressure(0.0).limited


def test_what_chance_alone_would_have_is_taken_off() -> None:
    drawn = np.random.default_rng(0)
    pairs = drawn.normal(size=(4000, 2, 12))
    found = [np.corrcoef(a, b)[0, 1] ** 2 for a, b in pairs]
    assert np.mean(found) > 0.08
    assert np.mean([adjusted(one, 12) for one in found]) == pytest.approx(0.0, abs=0.01)
    assert adjusted(1.0, 2) == 0.0

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import ParameterError
from fairgear.metrics import between_worlds, flips, over_rates

bits = st.integers(0, 1)


@given(st.lists(st.tuples(bits, bits, bits), min_size=1))
def test_flips_by_brute_force(table: list[tuple[int, int, int]]) -> None:
    factual, first, second = (list(column) for column in zip(*table, strict=True))
    n = len(table)
    rates = [
        sum(a != b for a, b in zip(factual, world, strict=True)) / n for world in (first, second)
    ]
    assert flips(factual, first).rate == pytest.approx(rates[0])
    assert flips(first, factual).rate == flips(factual, first).rate
    result = flips(factual, [first, second])
    assert result.rate == pytest.approx(sum(rates) / 2)
    assert result.draws == pytest.approx(rates)
    assert result.error == pytest.approx(abs(rates[0] - rates[1]) / 2)
    gained = sum((a, b) == (0, 1) for w in (first, second) for a, b in zip(factual, w, strict=True))
    assert result.gains == pytest.approx(gained / (2 * n))
    assert result.gains + result.losses == pytest.approx(result.rate)
    assert result.gains - result.losses == pytest.approx(
        (sum(first) + sum(second)) / (2 * n) - sum(factual) / n
    )
    assert result.by_node.mean() == pytest.approx(result.rate)


@pytest.mark.parametrize(
    "world",
    [[1, 0, 0], np.array([1, 0, 0]), torch.tensor([[1, 0, 0]]), [torch.tensor([1, 0, 0])]],
)
def test_one_draw_has_no_monte_carlo_error(world: Any) -> None:
    result = flips([0, 0, 0], world)
    assert result.rate == result.gains == pytest.approx(1 / 3)
    assert result.losses == 0
    assert math.isnan(result.error)


def test_the_average_over_rates_counts_each_rate_once() -> None:
    factual = [0, 0, 1, 1]
    half = [[1, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    result = over_rates(factual, {0.0: [0, 0, 1, 1], 0.5: half, 1.0: [1, 1, 1, 1]})
    assert [result.by_world[r].rate for r in (0.0, 0.5, 1.0)] == pytest.approx([0, 5 / 12, 0.5])
    assert result.rate == pytest.approx((0 + 5 / 12 + 0.5) / 3)
    assert result.error == pytest.approx(result.by_world[0.5].error / 3)
    assert result.by_node.mean() == pytest.approx(result.rate)
    assert math.isnan(over_rates(factual, {0.0: factual}).error)


def test_worlds_are_compared_pair_by_pair() -> None:
    zero, one = [0, 0, 0, 0], [1, 1, 1, 1]
    half = [[0, 0, 0, 1], [0, 1, 1, 1]]
    result = between_worlds({0: zero, 0.5: half, 1: one})
    assert {pair: flip.rate for pair, flip in result.by_world.items()} == {
        (0, 0.5): 0.5,
        (0, 1): 1.0,
        (0.5, 1): 0.5,
    }
    assert result.rate == pytest.approx(2 / 3)
    # What one draw adds to the first pair it takes from the last.
    assert result.error == pytest.approx(0)
    # A model can agree with the factual labels in one world and still differ between two.
    assert over_rates(zero, {0: zero}).rate == 0 < between_worlds({0: zero, 1: one}).rate


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="lengths 2, 3"):
        flips([0, 1], [[0, 1, 1]])
    with pytest.raises(ParameterError, match="no draws"):
        flips([0, 1], [])
    with pytest.raises(ParameterError, match=r"values 0\.5"):
        flips([0, 1], [0.5, 1])
    with pytest.raises(ParameterError, match="at least 2"):
        between_worlds({0: [0, 1]})
    with pytest.raises(ParameterError, match="at least 1"):
        over_rates([0, 1], {})
    with pytest.raises(ParameterError, match="same seeds"):
        between_worlds({0: [[0, 1], [1, 1]], 1: [[0, 1], [1, 1], [0, 0]]})

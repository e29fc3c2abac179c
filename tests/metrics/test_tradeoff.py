"""Trade-offs, against brute force over all pairs."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import ParameterError
from fairgear.metrics import fewest_flips, pareto_front, tradeoff

figures = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: (pair[0] / 6, pair[1] / 6)),
    min_size=1,
    max_size=12,
)


@given(figures)
def test_the_front_is_what_nobody_beats(pairs: list[tuple[float, float]]) -> None:
    found = pareto_front(*zip(*pairs, strict=True))
    for (good, bad), on in zip(pairs, found, strict=True):
        beaten = any(
            other[0] >= good and other[1] <= bad and other != (good, bad) for other in pairs
        )
        assert bool(on) != beaten


@given(figures, st.sampled_from([0.0, 0.1, 0.4, 1.0]))
def test_the_choice_has_the_fewest_flips_of_those_near_the_best(
    pairs: list[tuple[float, float]], max_loss: float
) -> None:
    place = fewest_flips(*zip(*pairs, strict=True), max_loss=max_loss)
    best = max(good for good, _ in pairs)
    near = [pair for pair in pairs if pair[0] >= best - max_loss]
    fewest = min(bad for _, bad in near)
    expected = max(good for good, bad in near if bad == fewest)
    assert pairs[place] == (expected, fewest)
    assert place == pairs.index(pairs[place])


def test_what_is_not_known_is_never_chosen() -> None:
    nan = float("nan")
    assert pareto_front([0.9, nan, 0.8], [0.2, 0.0, nan]).tolist() == [True, False, False]
    assert fewest_flips([0.9, nan, 0.8], [0.2, 0.0, nan], max_loss=1) == 0
    with pytest.raises(ParameterError, match="no pair of numbers"):
        fewest_flips([nan], [0.1], max_loss=1)
    with pytest.raises(ParameterError, match="max_loss"):
        fewest_flips([0.1], [0.1], max_loss=-1)
    with pytest.raises(ParameterError, match="one of each a model"):
        pareto_front([0.1], np.zeros(2))


def test_the_examples_of_its_docstrings() -> None:
    assert doctest.testmod(tradeoff).failed == 0

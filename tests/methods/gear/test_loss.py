"""Parts of Gear's loss against closed forms, and what it asks about in their frequencies."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.methods.gear.loss import Boundary, ModelWeights, assignment


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=5))
def test_models_with_more_inconsistency_are_drawn_more_often(running: list[float]) -> None:
    weights = ModelWeights(len(running))
    weights.running.copy_(torch.tensor(running))
    values = np.asarray(running, dtype=np.float32).astype(float)
    powers = np.exp(values / max(values.mean(), 1e-12))
    np.testing.assert_allclose(weights(), powers / powers.sum(), atol=1e-5)


def test_running_means_take_in_a_tenth_of_each_step() -> None:
    weights = ModelWeights(3)
    weights.update(torch.tensor([4.0, 0.0, 3.0]), torch.tensor([2.0, 0.0, 1.0]))
    np.testing.assert_allclose(weights.running, [0.9 + 0.2, 1.0, 0.9 + 0.3], rtol=1e-6)


def test_answers_are_less_decided_the_closer_a_logit_is_to_the_cut() -> None:
    boundary = Boundary()
    boundary.cut.fill_(0.5)
    logits = torch.tensor([-1.0, 0.5, 1.5])
    np.testing.assert_allclose(boundary(logits), np.tanh([-1.5, 0.0, 1.0]), atol=1e-6)


def assignment_law(sens: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The probability of each new s, by all that can be drawn."""
    law: dict[tuple[int, ...], float] = {}
    for coins in product((0, 1), repeat=len(sens)):
        flipped = [one != before for one, before in zip(coins, sens, strict=True)]
        few = float(np.prod([0.1 if one else 0.9 for one in flipped]))
        half = 0.5 ** len(sens)
        law[coins] = (few + half + all(coins) + (not any(coins))) / 4
    return law


@pytest.mark.parametrize("sens", [(0, 0, 0), (1, 0, 1)])
def test_a_few_are_flipped_or_nobody_half_or_all_are_set(sens: tuple[int, ...]) -> None:
    n, own = 20_000, torch.tensor(sens)
    torch.manual_seed(0)
    drawn = [assignment(own, 1 - own, 2) for _ in range(n)]
    assert drawn[0].dtype == own.dtype
    found = Counter(tuple(one.tolist()) for one in drawn)
    law = assignment_law(sens)
    assert sum(law.values()) == pytest.approx(1)
    for values, chance in law.items():
        away = 4 * (chance * (1 - chance) / n) ** 0.5
        assert found[values] / n == pytest.approx(chance, abs=away + 1e-9)


def test_a_step_asks_one_kind_of_question_about_everybody() -> None:
    torch.manual_seed(1)
    sens = torch.arange(10_000) % 2
    kinds = set()
    for _ in range(40):
        new = assignment(sens, 1 - sens, 2)
        shares = (float((new != sens).float().mean()), float(new.float().mean()))
        # The share of people who change, and that of the ones.
        known = {(0.1, 0.5): "few", (0.5, 0.0): "none", (0.5, 0.5): "half", (0.5, 1.0): "all"}
        kinds.add(next(kind for at, kind in known.items() if np.allclose(shares, at, atol=0.02)))
    assert kinds == {"few", "none", "half", "all"}

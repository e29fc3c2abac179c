"""What changes from step to step: the learning rate and the weight of the inconsistency."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fairgear import SensitiveGraph
from fairgear.methods.gear.training import GearTask
from tests.methods.gear.tiny import tiny


def test_the_learning_rate_rises_and_ends_at_nothing(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(steps=1000, learning_rate=0.01).fit(dense)
    (task,) = caught
    rates = [task._rate(number) for number in range(1000)]
    assert rates[0] == pytest.approx(0.0004, rel=0.01)
    assert rates[149] == pytest.approx(0.01 * (0.04 + 0.96 / 2))
    assert rates[299] == max(rates) == pytest.approx(0.01)
    assert rates[649] == pytest.approx(0.005)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
    rises = [after > before for before, after in pairwise(rates)]
    assert rises == [True] * 299 + [False] * 700
    task.step(149)
    (group,) = task.optimizers["network"].param_groups
    assert float(group["lr"]) == pytest.approx(rates[149])


def test_the_weight_of_the_inconsistency_grows_in_the_first_half_of_the_steps(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(steps=40, fairness_weight=3.0).fit(dense)
    (task,) = caught
    found = []
    for number in range(40):
        task.step(number)
        found.append(task.weights["consistency"])
    np.testing.assert_allclose(found, [*(3 * np.arange(1, 21) / 20), *[3.0] * 20])
    tiny(steps=1).fit(dense)
    assert caught[1]._ramp(0) == 1


def test_a_weight_decay_pulls_by_twice_the_parameters(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(weight_decay=0.3).fit(dense)
    (task,) = caught
    (group,) = task.optimizers["network"].param_groups
    # The gradient of μ‖θ‖² is 2μθ.
    assert group["weight_decay"] == pytest.approx(0.6)

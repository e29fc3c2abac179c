"""Intervals where the attribute of 40 % is unknown, on people of a known law."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import unknown_coverage


def test_the_truth_is_that_of_many_people() -> None:
    graph, sens = unknown_coverage.people(7, 40_000)
    found = unknown_coverage.measured(graph.x.numpy(), sens)
    for key, value in unknown_coverage.truth().items():
        assert found[key][0] == pytest.approx(value, abs=0.012)
    assert graph.sens_known is not None
    hidden = ~graph.sens_known.numpy()
    assert hidden.mean() == pytest.approx(0.4, abs=0.02)
    assert graph.x.numpy()[hidden, 0].mean() > np.mean(graph.x.numpy()[:, 0]) + 0.2


def test_combined_intervals_cover() -> None:
    covered = unknown_coverage.coverage(30, 200)
    # At 0.95, fewer than 25 of 30 come about once in three hundred.
    assert covered["delta_dp, combined"] >= 25 / 30
    assert covered["delta_cf, combined"] >= 25 / 30

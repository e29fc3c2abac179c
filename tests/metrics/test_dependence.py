from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from fairgear.errors import ParameterError, UndefinedMetricWarning
from fairgear.graph import closed_neighborhood_mean, undirected_edges
from fairgear.metrics import r2


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=2, max_size=50))
def test_r2_equals_a_linear_regression(table: list[tuple[int, int]]) -> None:
    pred, eighths = (np.array(column) for column in zip(*table, strict=True))
    summary = eighths / 8
    if np.ptp(pred) == 0 or np.ptp(summary) == 0:
        with pytest.warns(UndefinedMetricWarning, match="R² is undefined"):
            assert math.isnan(r2(pred, summary))
    else:
        model = LinearRegression().fit(summary[:, None], pred)
        assert r2(pred, summary) == pytest.approx(model.score(summary[:, None], pred), abs=1e-9)


def test_r2_of_a_neighbourhood() -> None:
    edges = undirected_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4)
    summary = closed_neighborhood_mean(torch.tensor([0, 1, 1, 1]), edges)
    assert summary.tolist() == pytest.approx([1 / 2, 2 / 3, 1, 1])
    assert r2(torch.tensor([0, 0, 1, 1]), summary) == pytest.approx(
        np.corrcoef([0, 0, 1, 1], summary)[0, 1] ** 2
    )


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e150])
def test_the_scale_of_the_summary_does_not_matter(scale: float) -> None:
    assert r2([0, 1, 1, 0], np.array([0.0, 3, 2, 1]) * scale) == pytest.approx(0.8)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"pred: got the values 0\.4"):
        r2([0.4, 1], [0.1, 0.2])
    with pytest.raises(ParameterError, match="summary: got 1 NaN"):
        r2([0, 1], [0.1, math.nan])

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from fairlearn.metrics import (
    MetricFrame,
    count,
    demographic_parity_difference,
    equal_opportunity_difference,
    selection_rate,
    true_positive_rate,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairgear.errors import ParameterError, UndefinedMetricWarning
from fairgear.metrics import GroupRow, delta_dp, delta_eo, group_table

bits = st.integers(0, 1)
rows = st.lists(st.tuples(bits, bits, bits), min_size=1, max_size=60)


@settings(max_examples=50)
@given(rows)
@example([(1, 1, 0)])
@example([(0, 0, 0), (0, 1, 1)])
@example([(1, 1, 1), (1, 0, 1), (0, 1, 1)])
@example([(1, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1)])
@example([(1, 0, 0), (0, 0, 0), (1, 0, 1), (0, 0, 1)])
@example([(1, 1, 0), (0, 1, 0), (1, 1, 1), (0, 1, 1)])
@example([(1, 1, 0), (1, 0, 1)])
def test_gaps_equal_fairlearn_where_they_are_defined(table: list[tuple[int, int, int]]) -> None:
    """Each line is y, prediction, group; fairlearn takes a group without positives for 0 of 0."""
    y, pred, sens = (np.array(column) for column in zip(*table, strict=True))
    if sens.min() == sens.max():
        with pytest.warns(UndefinedMetricWarning, match="is empty"):
            assert math.isnan(delta_dp(pred, sensitive_features=sens))
    else:
        expected = demographic_parity_difference(y, pred, sensitive_features=sens)
        assert delta_dp(pred, sensitive_features=sens) == pytest.approx(expected)
    if all(y[sens == group].any() for group in (0, 1)):
        expected = equal_opportunity_difference(y, pred, sensitive_features=sens)
        assert delta_eo(y, pred, sensitive_features=sens) == pytest.approx(expected)
    else:
        with pytest.warns(UndefinedMetricWarning, match="is of class 1"):
            assert math.isnan(delta_eo(y, pred, sensitive_features=sens))


# Of a single person fairlearn makes no table.
@settings(max_examples=50)
@given(rows.filter(lambda table: len(table) > 1))
def test_rates_by_group_equal_fairlearn(table: list[tuple[int, int, int]]) -> None:
    y, pred, sens = (np.array(column) for column in zip(*table, strict=True))
    rates = {"selection": selection_rate, "true_positive": true_positive_rate, "count": count}
    frame = MetricFrame(metrics=rates, y_true=y, y_pred=pred, sensitive_features=sens)
    ours = group_table(pred, sensitive_features=sens, y=y)
    for row in ours.rows:
        if row.count == 0:
            assert row.group not in frame.by_group.index
            assert math.isnan(row.selection_rate)
            continue
        theirs = frame.by_group.loc[row.group]
        assert (row.count, row.selection_rate) == (theirs["count"], theirs["selection"])
        if row.positives:
            assert row.true_positive_rate == theirs["true_positive"]
        else:
            assert math.isnan(row.true_positive_rate)


def test_a_group_without_positives_gets_no_made_up_number() -> None:
    y, pred, sens = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert equal_opportunity_difference(y, pred, sensitive_features=sens) == 0.5
    with pytest.warns(UndefinedMetricWarning, match="group 1"):
        assert math.isnan(delta_eo(y, pred, sensitive_features=sens))


def test_the_table_counts_and_its_differences_are_signed() -> None:
    y, pred, sens = [1, 1, 0, 0, 1, 0], [1, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]
    table = group_table(torch.tensor(pred), sensitive_features=sens, y=y)
    zero, one = table.rows
    assert zero == GroupRow(group=0, count=4, selected=3, positives=2, true_positives=1)
    assert one == GroupRow(group=1, count=2, selected=0, positives=1, true_positives=0)
    assert table.selection_rate_difference == -0.75
    assert table.true_positive_rate_difference == -0.5
    assert delta_dp(pred, sensitive_features=sens) == 0.75
    assert delta_eo(y, pred, sensitive_features=sens) == 0.5
    other = group_table(pred, sensitive_features=[1 - s for s in sens], y=y)
    assert other.selection_rate_difference == 0.75


def test_without_labels_there_are_selection_rates_only() -> None:
    table = group_table([1, 0], sensitive_features=[0, 1])
    assert table.selection_rate_difference == -1
    assert math.isnan(table.true_positive_rate_difference)


def test_the_sensitive_attribute_must_be_named_and_binary() -> None:
    with pytest.raises(TypeError):
        delta_dp([1, 0], [0, 1])  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="sensitive_features: got the values 2"):
        delta_dp([1, 0], sensitive_features=[1, 2])
    with pytest.raises(ParameterError, match="lengths 2, 3"):
        delta_dp([1, 0], sensitive_features=[1, 0, 1])
    with pytest.raises(ParameterError, match="y and pred"):
        delta_eo([1], [1, 0], sensitive_features=[1, 0])

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fairgear.causal.features import (
    FEATURE_MODELS,
    Columns,
    FeatureModel,
    FeatureQuantiles,
    FeatureShift,
)
from fairgear.errors import GraphError

N = 400
FOUR = Columns.unnamed(4, 1)


def people(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """A whole-number column, the attribute, a skewed column and a binary one."""
    rng = np.random.default_rng(seed)
    sens = (rng.random(N) < 0.35).astype(np.int64)
    binary = rng.random(N) < np.where(sens == 1, 0.7, 0.2)
    table = np.stack(
        [rng.integers(0, 50, N) + 5 * sens, sens, rng.lognormal(sens, 1.0), binary], axis=1
    )
    return table.astype(float), sens, rng.permutation(10 * N)[:N].astype(np.int64)


def fitted(kind: str) -> tuple[FeatureModel, NDArray[np.float64], NDArray[np.int64], torch.Tensor]:
    table, sens, ids = people()
    return FEATURE_MODELS[kind]().fit(table, sens, FOUR), table, sens, torch.from_numpy(ids)


def test_the_shift_is_the_difference_of_means() -> None:
    model, table, sens, ids = fitted("shift")
    expected = table[sens == 1].mean(axis=0) - table[sens == 0].mean(axis=0)
    moved = model.moved(table, sens, 1 - sens, ids, seed=0)
    signs = np.where(sens == 1, -1.0, 1.0)[:, None]
    assert np.allclose((moved - table) * signs, expected, rtol=1e-12)
    assert np.array_equal(moved[:, 1], 1 - sens)


@given(st.integers(0, 1000))
def test_people_shifted_alike_keep_their_distance_exactly(seed: int) -> None:
    table, sens, ids = people(seed)
    model = FeatureShift().fit(table[:, [0, 1, 3]], sens, Columns.unnamed(3, 1))
    whole = table[:, [0, 1, 3]]
    moved = model.moved(whole, sens, np.ones_like(sens), torch.from_numpy(ids), seed=0)
    alike = np.flatnonzero(sens == 0)[:40]
    before = whole[alike][:, None] - whole[alike][None]
    assert np.array_equal(moved[alike][:, None] - moved[alike][None], before)


@pytest.mark.parametrize("kind", FEATURE_MODELS)
def test_who_stays_is_untouched_and_state_survives(kind: str) -> None:
    model, table, sens, ids = fitted(kind)
    after = sens.copy()
    after[::3] = 1 - after[::3]
    moved = model.moved(table, sens, after, ids, seed=5)
    assert np.array_equal(moved[after == sens], table[after == sens])
    again = FeatureModel.from_state(*model.state())
    assert np.array_equal(again.moved(table, sens, after, ids, seed=5), moved)


def test_quantiles_give_the_other_groups_distribution() -> None:
    model, table, sens, ids = fitted("quantile")
    moved = model.moved(table, sens, np.ones_like(sens), ids, seed=1)
    came, there = moved[sens == 0], table[sens == 1]
    for column in (0, 2):
        assert set(came[:, column]) <= set(there[:, column])
        assert stats.ks_2samp(came[:, column], there[:, column]).pvalue > 0.2
    assert set(came[:, 3]) <= {0.0, 1.0}
    assert came[:, 3].mean() == pytest.approx(there[:, 3].mean(), abs=0.08)


def test_quantiles_keep_ranks() -> None:
    model, table, sens, ids = fitted("quantile")
    moved = model.moved(table, sens, np.ones_like(sens), ids, seed=1)
    order = np.argsort(table[sens == 0, 2])
    assert (np.diff(moved[sens == 0, 2][order]) >= 0).all()


def test_groups_that_do_not_differ_do_not_move() -> None:
    column = np.tile(np.arange(20.0), 20)
    sens = np.repeat([0, 1], 200)
    ids = torch.arange(N)
    model = FeatureQuantiles().fit(column[:, None], sens, Columns.unnamed(1))
    moved = model.moved(column[:, None], sens, 1 - sens, ids, seed=3)
    assert np.array_equal(moved[:, 0], column)


def test_values_never_seen_stay_within_the_other_groups_range() -> None:
    model, table, sens, ids = fitted("quantile")
    strange = table + 1e6
    moved = model.moved(strange, sens, 1 - sens, ids, seed=0)
    assert moved[:, 2].max() <= table[:, 2].max()


def test_one_group_is_not_enough() -> None:
    table, sens, _ = people()
    with pytest.raises(GraphError, match="nobody in group 1"):
        FeatureShift().fit(table, np.zeros_like(sens), FOUR)


def test_equal_columns_stay_equal_and_a_value_of_ones_own_leaves_nothing_to_chance() -> None:
    rng = np.random.default_rng(3)
    sens = (np.arange(N) < 100).astype(np.int64)
    binary = (rng.random(N) < np.where(sens == 1, 0.7, 0.2)).astype(float)
    table = np.stack([binary, binary, rng.normal(size=N)], axis=1)
    ids = torch.arange(N)
    model = FeatureQuantiles().fit(table, sens, Columns.unnamed(3))
    first, second = (model.moved(table, sens, 1 - sens, ids, seed=seed) for seed in (0, 1))
    assert np.array_equal(first[:, 0], first[:, 1])
    assert not np.array_equal(first[:, 0], second[:, 0])
    assert np.array_equal(first[:, 2], second[:, 2])

"""Feature models against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from fairgear.causal.features import (
    FEATURE_MODELS,
    Columns,
    Dosed,
    FeatureGaussian,
    FeatureLocationScale,
    FeatureModel,
    FeatureQuantiles,
    FeatureShift,
)
from fairgear.causal.features.levels import coupled
from fairgear.errors import ParameterError
from tests.causal.features.people import COLUMNS, JOBS, Floats, Integers, mixed


def three_cells(n: int = 900, width: int = 3) -> tuple[Floats, Integers, torch.Tensor]:
    rng = np.random.default_rng(1)
    cells = np.arange(n) % 3
    mixing = rng.normal(size=(3, width, width))
    table = np.einsum("ni,nij->nj", rng.normal(size=(n, width)), mixing[cells])
    table += rng.normal(size=(3, width))[cells]
    return table, cells, torch.arange(n)


def test_the_shift_is_the_slope_of_least_squares_on_the_code() -> None:
    table, cells, ids = three_cells()
    code = (cells[:, None] == np.array([1, 2])).astype(float)
    slope = np.linalg.lstsq(np.column_stack([np.ones(len(cells)), code]), table, rcond=None)[0][1:]
    after = (cells + 1) % 3
    model = FeatureShift().fit(table, cells, Columns.unnamed(3))
    moved = model.moved(table, cells, after, ids, seed=0)
    other = (after[:, None] == np.array([1, 2])).astype(float)
    assert np.allclose(moved, table + (other - code) @ slope)


def test_location_and_scale_by_hand() -> None:
    column = np.array([1.0, 3.0, 10.0, 10.0, 20.0, 30.0])[:, None]
    sens, ids = np.array([0, 0, 1, 1, 1, 1]), torch.arange(6)
    model = FeatureLocationScale().fit(column, sens, Columns.unnamed(1))
    moved = model.moved(column, sens, 1 - sens, ids, seed=0)
    sd = np.sqrt(275 / 4)
    expected = [17.5 - sd, 17.5 + sd, *(2 + (np.array([10, 10, 20, 30]) - 17.5) / sd)]
    assert np.allclose(moved[:, 0], expected)
    constant = np.where(sens == 0, 5.0, column[:, 0])[:, None]
    model = FeatureLocationScale().fit(constant, sens, Columns.unnamed(1))
    assert np.allclose(model.moved(constant, sens, 1 - sens, ids, seed=0)[:2, 0], 17.5)


def test_gaussian_transport_of_gaussians() -> None:
    """By scipy's roots of matrices, through everybody's law, in standard units."""
    table, cells, ids = three_cells()
    after = (cells + 1) % 3
    model = FeatureGaussian().fit(table, cells, Columns.unnamed(3))
    moved = model.moved(table, cells, after, ids, seed=0)
    unit = table / table.std(axis=0)

    def law(rows: Floats) -> tuple[Floats, Floats]:
        return rows.mean(axis=0), np.cov(rows, rowvar=False, bias=True)

    def transport(rows: Floats, source: Floats, target: Floats) -> Floats:
        (mean, cov), (other, wanted) = law(source), law(target)
        root = np.real(sqrtm(cov))
        inverse = np.linalg.inv(root)
        matrix = inverse @ np.real(sqrtm(root @ wanted @ root)) @ inverse
        found: Floats = other + (rows - mean) @ matrix
        return found

    for cell in range(3):
        mine = cells == cell
        pooled = transport(unit[mine], unit[mine], unit)
        expected = transport(pooled, unit, unit[cells == (cell + 1) % 3])
        assert np.allclose(moved[mine], expected * table.std(axis=0), atol=1e-8)
        target = table[cells == (cell + 1) % 3]
        assert np.allclose(moved[mine].mean(axis=0), target.mean(axis=0))
        assert np.allclose(np.cov(moved[mine].T), np.cov(target.T), rtol=1e-6)


def test_gaussian_transport_keeps_what_is_collinear() -> None:
    rng = np.random.default_rng(2)
    sens = np.arange(400) % 2
    values = rng.normal(size=(400, 2)) * np.where(sens == 1, 3.0, 1.0)[:, None] + sens[:, None]
    table = np.column_stack([values, values @ [2.0, -1.0], np.full(400, 4.0)])
    model = FeatureGaussian().fit(table, sens, Columns.unnamed(4))
    moved = model.moved(table, sens, 1 - sens, torch.arange(400), seed=0)
    assert np.allclose(moved[:, 2], moved[:, :2] @ [2.0, -1.0], atol=1e-6)
    assert np.allclose(moved[:, 3], 4.0)
    assert np.allclose(moved[sens == 0].std(axis=0), table[sens == 1].std(axis=0), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 5))
def test_levels_change_for_as_few_people_as_possible(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = rng.dirichlet(np.ones(count), 2)
    n = 20_000
    levels = rng.choice(count, n, p=before)
    same, other = (np.broadcast_to(law, (n, count)) for law in (before, after))
    found = coupled(levels, same, other, rng.random(n))
    assert np.allclose(np.bincount(found, minlength=count) / n, after, atol=0.02)
    # No coupling changes fewer than the total variation.
    assert (found != levels).mean() == pytest.approx(np.abs(before - after).sum() / 2, abs=0.02)
    assert np.array_equal(coupled(levels, same, same, rng.random(n)), levels)


@pytest.mark.parametrize("kind", FEATURE_MODELS)
def test_jobs_follow_the_law_they_were_drawn_from(kind: str) -> None:
    table, sens, ids = mixed(seed=3, n=8000)
    model = FEATURE_MODELS[kind]().fit(table, sens, COLUMNS)
    moved = model.moved(table, sens, 1 - sens, torch.from_numpy(ids), seed=1)
    for cell, law in JOBS.items():
        shares = moved[sens != cell][:, [4, 5, 6]].mean(axis=0)
        assert np.allclose(shares, law, atol=0.03)


def doses(model: FeatureModel) -> dict[float, Floats]:
    table, sens, ids = mixed()
    model.fit(table, sens, COLUMNS)
    return {
        share: Dosed(model, share).moved(table, sens, 1 - sens, torch.from_numpy(ids), seed=4)
        for share in (0.0, 0.25, 0.5, 1.0)
    }


def test_a_dose_moves_a_share() -> None:
    table, sens, ids = mixed()
    model = FeatureQuantiles()
    found = doses(model)
    full = model.moved(table, sens, 1 - sens, torch.from_numpy(ids), seed=4)
    assert np.array_equal(found[1.0], full)
    nothing = table.copy()
    nothing[:, 1] = 1 - sens
    assert np.array_equal(found[0.0], nothing)
    assert np.allclose(found[0.25][:, [0, 2]], 0.75 * table[:, [0, 2]] + 0.25 * full[:, [0, 2]])
    whole = [3, 4, 5, 6, 7]
    for less, more in ((0.25, 0.5), (0.5, 1.0)):
        changed = (found[less][:, whole] != table[:, whole]).any(axis=1)
        assert np.array_equal(found[less][changed][:, whole], full[changed][:, whole])
        assert np.array_equal(found[more][changed][:, whole], full[changed][:, whole])
    able = (full[:, whole] != table[:, whole]).any(axis=1)
    half = (found[0.5][able][:, whole] != table[able][:, whole]).any(axis=1)
    assert half.mean() == pytest.approx(0.5, abs=0.08)


def test_a_dose_is_a_share() -> None:
    with pytest.raises(ParameterError, match="0 to 1"):
        Dosed(FeatureShift(), 1.5)
    fresh = Dosed(FeatureShift(["age"]), 0.5)
    assert not fresh.fitted
    assert fresh.notes == ("These keep their values, as requested: age.",)

"""Small groups of several attributes: their people are joined by others, moved by main effects."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from fairgear.causal.features import FEATURE_MODELS
from fairgear.causal.features.columns import Columns
from fairgear.causal.features.small_cells import filled, main_effects
from fairgear.graph import Attribute, Attributes
from fairgear.graph.attributes import SMALL_GROUP

# Three values of one attribute, two of another; nobody but four people in the last group.
CROSSED = tuple((first, second) for first in range(3) for second in range(2))
FIRST, SECOND = np.array([0.0, 4.0, -2.0]), np.array([0.0, 10.0])


def sample(last: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of numbers that follow the attributes additively, and one of zeros and ones."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(np.repeat(np.arange(6), [200, 150, 120, 180, 160, last]))
    codes = np.array(CROSSED)[cells]
    effect = FIRST[codes[:, 0]] + SECOND[codes[:, 1]]
    numbers = rng.normal(size=(len(cells), 2)) + effect[:, None] * [1.0, -0.5]
    return np.column_stack([numbers, rng.random(len(cells)) < 0.4]), cells


def columns(crossed: tuple[tuple[int, ...], ...] = CROSSED) -> Columns:
    return Columns(("a", "b", "flag"), crossed=crossed)


def test_main_effects_are_those_of_a_regression() -> None:
    table, cells = sample(4)
    codes = np.array(CROSSED)
    design = np.column_stack([codes[:, :1] == [1, 2], codes[:, 1:] == [1]]).astype(float)
    expected = LinearRegression().fit(design[cells], table).predict(design)
    assert np.allclose(main_effects(table, cells, CROSSED), expected)


@pytest.mark.parametrize("last", [0, 4, 29])
def test_a_small_group_has_thirty_rows(last: int) -> None:
    table, cells = sample(last)
    more, groups = filled(table, cells, columns(), [2])
    added, lent = more[len(table) :], groups[len(table) :]
    assert np.array_equal(more[: len(table)], table)
    assert lent.tolist() == [5] * (SMALL_GROUP - last)
    # Others' rows, one by one: moved in numbers, not in the column of few values.
    others = np.flatnonzero(cells != 5)
    effects = main_effects(table[:, :2], cells, CROSSED)
    for place, row in enumerate(added):
        who = others[place * len(others) // len(added)]
        assert row[2] == table[who, 2]
        assert np.allclose(row[:2], table[who, :2] + effects[5] - effects[cells[who]])
    assert added[:, 0].mean() == pytest.approx(FIRST[2] + SECOND[1], abs=1.0)


@pytest.mark.parametrize("crossed", [CROSSED, ()])
def test_nothing_is_added_to_large_groups_or_to_one_attribute(
    crossed: tuple[tuple[int, ...], ...],
) -> None:
    table, cells = sample(30 if crossed else 4)
    more, groups = filled(table, cells, columns(crossed), [2])
    assert more is table
    assert groups is cells


@pytest.mark.parametrize("name", ["shift", "quantile", "location-scale", "gaussian", "sequential"])
def test_people_are_moved_to_a_group_that_nobody_is_in(name: str) -> None:
    table, cells = sample(0)
    model = FEATURE_MODELS[name]().fit(
        np.vstack([table, table[:1]]),
        np.append(cells, 5),
        columns(),
        np.append(np.ones(len(cells), dtype=bool), False),
    )
    own = np.flatnonzero(cells == 4)
    before, ids = np.full(len(own), 4), torch.from_numpy(own)
    after = model.moved(table[own], before, np.full(len(own), 5), ids, seed=0)
    # From (2, 0) to (2, 1): by the second attribute's effect alone.
    moved = (after - table[own])[:, :2].mean(axis=0)
    assert moved == pytest.approx([10.0, -5.0], abs=1.0)
    if name in ("quantile", "sequential"):
        assert np.isin(after[:, 2], [0.0, 1.0]).all()
    # Saved without a trace where there is one attribute, and found again where there are several.
    assert Columns.from_dict(columns().to_dict()) == columns()
    assert "crossed" not in columns(()).to_dict()


def test_the_smallest_value_counts_where_several_attributes_make_groups() -> None:
    each = (Attribute("race", ("a", "b", "c")), Attribute("sex", ("f", "m")))
    cells = sample(4)[1]
    assert Attributes(each, CROSSED).fewest(cells) == min(350, 300, 164, 480, 334)
    alone = Attributes.single("race", [str(value) for value in range(6)])
    assert alone.fewest(cells) == 4

"""What every feature model must keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.causal.features import FEATURE_MODELS, Columns, Dosed, FeatureModel, FeatureSequential
from fairgear.errors import GraphError, ParameterError
from tests.causal.features.people import COLUMNS, NAMES, mixed

MAKERS: dict[str, Callable[..., FeatureModel]] = {
    **dict(FEATURE_MODELS.items()),
    "forest": lambda **given: FeatureSequential(**given, conditional="forest"),
    "dosed": lambda **given: Dosed(FEATURE_MODELS["quantile"](**given), 0.4),
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[..., FeatureModel]:
    return MAKERS[request.param]


def test_only_people_whose_attribute_changes_move(make: Callable[..., FeatureModel]) -> None:
    table, sens, ids = mixed()
    model = make().fit(table, sens, COLUMNS)
    after = np.where(np.arange(len(sens)) % 3 == 0, 1 - sens, sens)
    moved = model.moved(table, sens, after, torch.from_numpy(ids), seed=5)
    assert np.array_equal(moved[after == sens], table[after == sens])
    assert np.array_equal(moved[:, 1], after)
    assert (moved[after != sens] != table[after != sens]).any(axis=0).all()
    again = FeatureModel.from_state(*model.state())
    assert np.array_equal(again.moved(table, sens, after, torch.from_numpy(ids), seed=5), moved)
    assert (again.name, again.how, again.notes) == (model.name, model.how, model.notes)


def test_one_row_alone_moves_as_among_all_in_any_order(make: Callable[..., FeatureModel]) -> None:
    table, sens, ids = mixed()
    model, node_id = make().fit(table, sens, COLUMNS), torch.from_numpy(ids)
    everybody = model.moved(table, sens, 1 - sens, node_id, seed=2)
    for row in range(0, len(sens), 37):
        one = slice(row, row + 1)
        alone = model.moved(table[one], sens[one], 1 - sens[one], node_id[one], seed=2)
        assert np.array_equal(alone[0], everybody[row])
    order = np.random.default_rng(0).permutation(len(sens))
    moved = model.moved(table[order], sens[order], 1 - sens[order], node_id[order], seed=2)
    assert np.array_equal(moved, everybody[order])


@pytest.mark.parametrize("scaled", [False, True])
def test_everybody_has_exactly_one_job(make: Callable[..., FeatureModel], scaled: bool) -> None:
    table, sens, ids = mixed(n=3000, scaled=scaled)
    model = make().fit(table, sens, COLUMNS)
    moved = model.moved(table, sens, np.ones_like(sens), torch.from_numpy(ids), seed=1)
    jobs, high = [4, 5, 6], table[:, [4, 5, 6]].max(axis=0)
    assert np.isin(moved[:, jobs], table[:, jobs]).all()
    assert ((moved[:, jobs] == high).sum(axis=1) == 1).all()
    if model.name != "quantile at 0.4":
        share = (moved[sens == 0][:, jobs] == high).mean(axis=0)
        there = (table[sens == 1][:, jobs] == high).mean(axis=0)
        assert np.allclose(share, there, atol=0.04)


def test_what_resolves_keeps_its_value(make: Callable[..., FeatureModel]) -> None:
    table, sens, ids = mixed()
    model = make(resolving=["job", "income"]).fit(table, sens, COLUMNS)
    moved = model.moved(table, sens, 1 - sens, torch.from_numpy(ids), seed=1)
    assert np.array_equal(moved[:, [2, 4, 5, 6]], table[:, [2, 4, 5, 6]])
    assert (moved[:, [0, 3, 7]] != table[:, [0, 3, 7]]).any(axis=0).all()
    assert "job, income" in model.notes[-1]
    again = FeatureModel.from_state(*model.state())
    assert again.resolving == ("job", "income")
    for name in ("sex", "job=nurse", "wage"):
        with pytest.raises(ParameterError, match=f"'{name}'.*age, income, owner, job, children"):
            make(resolving=[name]).fit(table, sens, COLUMNS)


def test_maps_are_learned_from_the_people_given(make: Callable[..., FeatureModel]) -> None:
    table, sens, ids = mixed(n=1200)
    people, node_id = ids % 3 > 0, torch.from_numpy(ids)
    model = make().fit(table, sens, COLUMNS, people)
    moved = model.moved(table, sens, 1 - sens, node_id, seed=1)
    other = table.copy()
    # Values inside the columns' ends, of people nobody learns from.
    other[~people] = table[~people][::-1]
    same = make().fit(other, sens, COLUMNS, people)
    assert np.array_equal(same.moved(table, sens, 1 - sens, node_id, seed=1), moved)
    whole = make().fit(table, sens, COLUMNS)
    assert not np.array_equal(whole.moved(table, sens, 1 - sens, node_id, seed=1), moved)
    with pytest.raises(GraphError, match="nobody in group 1"):
        make().fit(table, sens, COLUMNS, sens == 0)


def test_a_job_nobody_learned_from_is_left_or_kept(make: Callable[..., FeatureModel]) -> None:
    table, sens, ids = mixed()
    people = table[:, 6] == 0
    model = make().fit(table, sens, COLUMNS, people)
    moved = model.moved(table, sens, 1 - sens, torch.from_numpy(ids), seed=1)
    assert (moved[:, [4, 5, 6]].sum(axis=1) == 1).all()
    assert np.isfinite(moved).all()


@pytest.mark.parametrize("kind", [k for k, model in FEATURE_MODELS.items() if model.composes])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 6), n=st.integers(30, 80))
def test_maps_compose(kind: str, seed: int, width: int, n: int) -> None:
    """Among three cells, with a constant column, a collinear one and one constant in a cell."""
    rng = np.random.default_rng(seed)
    cells = np.arange(n) % 3
    table = rng.normal(size=(n, width)) * (1 + cells[:, None]) + cells[:, None]
    extra = [np.full(n, 0.1), table.sum(axis=1), np.where(cells == 1, 7.0, rng.normal(size=n))]
    table = np.column_stack([table, *extra]) * 10.0 ** rng.integers(-3, 4, width + 3)
    model = FEATURE_MODELS[kind]().fit(table, cells, Columns.unnamed(width + 3))
    ids, last = torch.arange(n), (cells + 2) % 3
    once = model.moved(table, cells, (cells + 1) % 3, ids, seed=0)
    twice = model.moved(once, (cells + 1) % 3, last, ids, seed=0)
    direct = model.moved(table, cells, last, ids, seed=0)
    back = model.moved(direct, last, cells, ids, seed=0)
    size = np.abs(table).max(axis=0)
    assert (np.abs(twice - direct) <= 1e-9 * size).all()
    assert (np.abs(back - table) <= 1e-9 * size).all()
    assert np.allclose(direct[:, width], table[:, width], rtol=1e-12)


def test_names_are_those_of_the_columns() -> None:
    assert list(COLUMNS.nodes) == ["age", "income", "owner", "job", "children"]
    assert COLUMNS.nodes["job"] == (4, 5, 6)
    assert Columns.from_dict(COLUMNS.to_dict()) == COLUMNS
    with pytest.raises(ParameterError, match="one title a category"):
        Columns(NAMES, 1, ((4, 5, 6),))


@pytest.mark.parametrize(("name", "most"), [("gaussian", 2000), ("sequential", 500)])
def test_models_of_pairs_of_columns_refuse_very_wide_tables(name: str, most: int) -> None:
    names = [f"c{place}" for place in range(most + 1)]
    columns = Columns(tuple(names))
    table, sens = np.zeros((4, most + 1)), np.array([0, 1, 0, 1])
    with pytest.raises(GraphError, match=f"{most + 1:,} columns; allowed: at most {most:,}"):
        FEATURE_MODELS[name]().fit(table, sens, columns)
    assert FEATURE_MODELS["quantile"]().fit(table, sens, columns).fitted

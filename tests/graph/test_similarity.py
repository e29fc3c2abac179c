from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SimilarityRule, similarity_edges
from fairgear.graph import similarity as module

Floats = NDArray[np.float64]


def brute_force(table: Floats, threshold: float) -> set[tuple[int, int]]:
    """The rule read aloud, on an n×n matrix."""
    similarity = 1 / (1 + cdist(table, table))
    np.fill_diagonal(similarity, -1)
    own = similarity > threshold * similarity.max(axis=1, keepdims=True)
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(own | own.T), strict=True)}


def pairs(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in edge_index.t().tolist()}


def tables(seed: int, n: int, width: int) -> Floats:
    """Whole numbers, as most tables hold: many equal distances and copies of rows."""
    return np.random.default_rng(seed).integers(0, 4, (n, width)).astype(np.float64)


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 6), st.floats(0.3, 0.999))
def test_edges_are_those_of_the_full_matrix(
    seed: int, n: int, width: int, threshold: float
) -> None:
    table = tables(seed, n, width)
    assert pairs(similarity_edges(table, threshold)) == brute_force(table, threshold)


def test_continuous_columns_over_several_tiles_and_chunks() -> None:
    table = np.random.default_rng(0).normal(size=(2500, 3))
    assert pairs(similarity_edges(table, 0.97)) == brute_force(table, 0.97)


def in_the_order_of_columns(table: Floats) -> Floats:
    """All squared distances, summed as the rule says; infinite for a row and itself."""
    total = np.zeros((len(table), len(table)))
    for column in table.T:
        total += (column[:, None] - column) ** 2
    np.fill_diagonal(total, np.inf)
    return total


@given(
    st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 9), st.sampled_from([0, 1, 3, 50])
)
def test_nearest_rows_are_exact_and_of_equals_the_lowest(
    seed: int, n: int, width: int, values: int
) -> None:
    """Also where all rows are the same, and where a row is alone."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, values + 1, (n, width)) / rng.choice([1.0, 3.0], width)
    built = SimilarityRule(0.7).build(table)
    distances = in_the_order_of_columns(table)
    assert built.closest is not None
    assert built.nearest is not None
    if n == 1:
        assert (built.closest[0], built.nearest[0]) == (np.inf, -1)
    else:
        assert np.array_equal(built.closest, distances.min(axis=1))
        assert np.array_equal(built.nearest, distances.argmin(axis=1))
    similarity = 1 / (1 + np.sqrt(distances))
    own = similarity > 0.7 * (1 / (1 + np.sqrt(built.closest)))[:, None]
    assert pairs(built.edge_index) == set(map(tuple, np.argwhere(own | own.T).tolist()))


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0, 1, 5, 50]))
def test_edges_lost_and_gained_are_those_between_two_tables(
    seed: int, count: int, values: int
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, values + 1, (200, 3)) / 3
    built = SimilarityRule(0.8).build(table)
    rows = rng.choice(200, count, replace=False)
    after = table.copy()
    after[rows] = rng.integers(0, values + 2, (count, 3)) / 3
    found = built.changes(rows, after[rows])
    if found is None:
        # Too many rows have a moved one for their nearest, or would have.
        assert built.nearest is not None
        assert built.closest is not None
        have = np.isin(built.nearest, rows).sum()
        would = (cdist(after, after[rows], "sqeuclidean") < built.closest[:, None]).sum()
        assert have > max(200 // module._FEW, 8) or would > 50
        return
    before, new = pairs(built.edge_index), pairs(similarity_edges(after, 0.8))
    lost, gained = ({(i, j) for i, j in part.T.tolist()} for part in found)
    assert lost == {(i, j) for i, j in before - new if i < j}
    assert gained == {(i, j) for i, j in new - before if i < j}


@given(st.integers(0, 10_000))
def test_reordering_rows_reorders_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (40, 3)) / 3
    order = rng.permutation(40)
    moved = similarity_edges(table[order], 0.8)
    assert pairs(torch.from_numpy(order)[moved]) == pairs(similarity_edges(table, 0.8))


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 8), st.floats(0.4, 0.95))
def test_following_a_change_of_few_rows_equals_building_anew(
    seed: int, count: int, threshold: float
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 6, (80, 4)).astype(np.float64)
    built = SimilarityRule(threshold).build(table)
    rows = rng.choice(80, count, replace=False)
    after = table.copy()
    after[rows] += rng.normal(size=(count, 4)) * rng.integers(0, 2, (count, 1))
    assert torch.equal(built.after(after, rows), similarity_edges(after, threshold))


def test_following_is_the_cheap_way_and_not_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(1).normal(size=(600, 4))
    built = SimilarityRule(0.9).build(table)
    expected = similarity_edges(table + (np.arange(600) == 7)[:, None], 0.9)

    def refuse(*_: object) -> None:
        raise AssertionError("built anew")

    monkeypatch.setattr(module, "rows_above", refuse)
    after = built.after(table + (np.arange(600) == 7)[:, None], np.array([7]))
    assert torch.equal(after, expected)
    assert not torch.equal(after, built.edge_index)


def test_copies_are_joined_and_a_lonely_row_still_has_a_nearest() -> None:
    table = np.array([[0.0], [0.0], [100.0]])
    assert pairs(similarity_edges(table, 0.9)) == {(0, 1), (1, 0), (2, 0), (0, 2), (1, 2), (2, 1)}
    assert similarity_edges(np.zeros((1, 2)), 0.5).shape == (2, 0)


@given(st.integers(0, 1000), st.integers(1, 60))
def test_nearest_rows_lose_edges_and_never_add_any(seed: int, neighbors: int) -> None:
    table = np.random.default_rng(seed).normal(size=(60, 3))
    every = pairs(similarity_edges(table, 0.6))
    nearest = pairs(similarity_edges(table, 0.6, neighbors=neighbors))
    assert nearest <= every
    if neighbors >= 59:
        assert nearest == every
    assert len(nearest) >= len({i for i, _ in every})


def test_nearest_rows_among_many_copies() -> None:
    table = np.repeat(np.array([[0.0], [5.0]]), 20, axis=0)
    edges = similarity_edges(table, 0.9, neighbors=3)
    degree = torch.bincount(edges[0], minlength=40)
    assert bool((degree >= 3).all())
    assert bool(((edges[0] < 20) == (edges[1] < 20)).all())


def test_a_table_of_two_hundred_thousand_rows_needs_no_square() -> None:
    table = np.random.default_rng(0).normal(size=(200_000, 2))
    edges = similarity_edges(table, 0.999, neighbors=5)
    assert edges.shape[1] >= 200_000


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.0, 1.5, float("nan")])
def test_thresholds_outside_the_range_are_refused(threshold: float) -> None:
    with pytest.raises(ParameterError, match="similarity threshold"):
        similarity_edges(np.zeros((3, 1)), threshold)


def test_bad_tables_are_refused() -> None:
    with pytest.raises(ParameterError, match="neighbors"):
        similarity_edges(np.zeros((3, 1)), 0.5, neighbors=0)
    with pytest.raises(GraphError, match="NaN"):
        similarity_edges(np.array([[np.nan]]), 0.5)
    with pytest.raises(GraphError, match="shape"):
        similarity_edges(np.zeros(3), 0.5)


def test_a_threshold_that_joins_everyone_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 5000)
    with pytest.raises(GraphError, match="over 5,000 edges"):
        similarity_edges(np.random.default_rng(0).normal(size=(300, 2)), 0.01)


def test_a_published_graph_by_an_independent_path() -> None:
    """A slice of Bail: float comparisons agree with a full matrix, ties included."""
    file = Path(os.environ.get("FAIRGEAR_DATA", "")) / "bail" / "bail.csv"
    if not file.is_file():
        pytest.skip("the raw file of Bail is not in FAIRGEAR_DATA")
    table = np.loadtxt(file, delimiter=",", skiprows=1, max_rows=1500)
    table = np.delete(table, 16, axis=1)
    assert pairs(similarity_edges(table, 0.6)) == brute_force(table, 0.6)

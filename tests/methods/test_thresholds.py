from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.methods.thresholds import advice, most_accurate, validation_subset

people = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])),
    min_size=1,
    max_size=12,
)


@given(people=people)
def test_no_threshold_between_scores_is_more_accurate(people: list[tuple[int, float]]) -> None:
    y = np.array([label for label, _ in people])
    scores = np.array([score for _, score in people])

    def accuracy(threshold: float) -> float:
        return float(np.mean([(s > threshold) == (label == 1) for label, s in people]))

    chosen = most_accurate(y, scores)
    grid = [t for t in np.linspace(0, 1, 41) if scores.min() <= t < scores.max()]
    assert all(accuracy(chosen) >= accuracy(t) for t in [0.5, *grid])
    if accuracy(0.5) == accuracy(chosen):
        assert chosen == 0.5


def test_people_on_both_sides_of_a_gap_are_told_apart() -> None:
    y, scores = np.array([0, 0, 1, 1]), np.array([0.7, 0.75, 0.8, 0.9])
    assert 0.75 <= most_accurate(y, scores) < 0.8


def test_a_threshold_that_costs_much_is_told_and_one_that_costs_little_is_not() -> None:
    y = np.array([0] * 10 + [1] * 10)
    right = np.linspace(0.1, 0.9, 20)
    assert advice(y, right) == ""
    # Everybody above one half, in the same order: half of the labels are wrong.
    told = advice(y, 0.5 + right / 2)
    assert "costs 0.50 of accuracy" in told
    assert 'with 0.75; threshold="validation"' in told
    # One of twenty wrong is worth a line, one of forty is not.
    wrong = right.copy()
    wrong[9] = 0.505
    assert "costs 0.05 of accuracy" in advice(y, wrong)
    assert advice(np.tile(y, 2), np.concatenate([right, wrong])) == ""


@given(
    zeros=st.integers(1, 300), ones=st.integers(1, 300), most=st.integers(8, 50), seed=st.integers()
)
def test_validation_subsets_are_of_both_classes_and_no_more_than_wanted(
    zeros: int, ones: int, most: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed % 2**31)
    y = torch.cat([torch.zeros(zeros), torch.ones(ones)]).long()
    y = y[torch.randperm(len(y), generator=generator)]
    rows = torch.arange(len(y))
    kept = validation_subset(rows, y, most)
    assert len(kept) <= max(most, 2) or len(rows) <= most
    assert set(y[kept].tolist()) == {0, 1}
    assert torch.equal(kept, torch.tensor(sorted(set(kept.tolist()))))
    if len(rows) <= most:
        assert torch.equal(kept, rows)


def test_a_great_many_rows_are_not_run_past() -> None:
    # float32 would round the last place up.
    n = 2**24 + 4
    y = torch.zeros(n, dtype=torch.int8)
    y[::2] = 1
    kept = validation_subset(torch.arange(n), y, 100)
    assert len(kept) == 100
    assert int(kept[-1]) < n

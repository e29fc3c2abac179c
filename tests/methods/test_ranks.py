from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from fairgear.methods.ranks import RankScores


def fitted(x: Tensor) -> RankScores:
    return RankScores(x.shape[1]).fit(x)


def long_tailed(seed: int, n: int = 2000) -> Tensor:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), np.exp(2 * rng.normal(size=n)), rng.poisson(3, size=n)]
    return torch.tensor(np.stack(columns, axis=1), dtype=torch.float32)


def standardised_ranks(column: Tensor) -> NDArray[np.float64]:
    """Those of scipy, which gives people with one value the middle of their ranks."""
    ranks = rankdata(column.double().numpy())
    return np.asarray((ranks - ranks.mean()) / ranks.std())


@pytest.mark.parametrize("n", [2, 3, 50, 256])
def test_scores_of_few_people_are_their_ranks(n: int) -> None:
    x = long_tailed(0, n)
    # One column of distinct values, one with a long tail, one of counts that many share.
    found = fitted(x)(x).numpy()
    assert len(np.unique(x[:, 2])) < n or n < 50
    for column in range(3):
        np.testing.assert_allclose(found[:, column], standardised_ranks(x[:, column]), atol=1e-4)


def test_scores_of_many_people_are_their_ranks_but_for_one_in_256() -> None:
    x = long_tailed(0, 5000)
    found = fitted(x)(x).numpy()
    for column in range(3):
        expected = standardised_ranks(x[:, column])
        # Ranks from 0 to 1 have a standard deviation of 1/√12 where all differ.
        most = 12**0.5 / 256 if column < 2 else 1e-4
        assert np.abs(found[:, column] - expected).max() < most


def test_who_shares_a_value_gets_the_middle_of_their_ranks_among_many_values_too() -> None:
    # Half of the people have no income; the incomes of the others are all different.
    x = torch.cat([torch.zeros(1000), 1 + torch.rand(1000)])[:, None]
    found = fitted(x)(x).numpy()[:, 0]
    np.testing.assert_allclose(found, standardised_ranks(x[:, 0]), atol=2 * 12**0.5 / 256)
    np.testing.assert_allclose(found[:1000], standardised_ranks(x[:, 0])[0], atol=1e-3)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30), st.floats(-6, 6))
def test_between_two_values_ranks_lie_on_a_line(values: list[int], other: float) -> None:
    x = torch.tensor(values, dtype=torch.float32)[:, None]
    known, counts = np.unique(values, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    own = np.interp(values, known, middle)
    spread = own.std() if len(known) > 1 else 1.0
    expected = (np.interp(other, known, middle) - own.mean()) / spread
    found = float(fitted(x)(torch.tensor([[other]])))
    assert found == pytest.approx(expected, abs=1e-3)


def test_a_small_move_of_a_shared_value_changes_its_rank_a_little() -> None:
    x = torch.cat([torch.zeros(900), torch.arange(1, 101)])[:, None].float()
    scores = fitted(x)
    steps = scores(torch.tensor([[-0.01], [0.0], [0.01]]))[:, 0]
    # Ranks jump by 0.45 from the shared value to the next one: a hundredth of the way, as much.
    assert float(steps[0]) == float(steps[1])
    jump = float(scores(torch.tensor([[1.0]]))) - float(steps[1])
    assert jump > 0.5
    assert float(steps[2] - steps[1]) == pytest.approx(0.01 * jump, abs=1e-4)


def test_the_spread_of_a_long_tail_is_that_of_everything_else() -> None:
    x = long_tailed(1)
    found = fitted(x)(x)
    assert torch.allclose(found.mean(dim=0), torch.zeros(3), atol=1e-4)
    assert torch.allclose(found.std(dim=0, correction=0), torch.ones(3), atol=1e-4)
    plain = (x - x.mean(dim=0)) / x.std(dim=0)
    middle = [
        float(part[:, 1].quantile(0.75) - part[:, 1].quantile(0.25)) for part in (plain, found)
    ]
    assert middle[0] < 0.6 < 1.2 < middle[1]


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-100, 100))
def test_order_stays_and_the_scale_of_a_column_does_not_matter(
    seed: int, factor: float, shift: float
) -> None:
    x = long_tailed(seed, 200)
    scores = fitted(x)
    more = torch.cat([x, long_tailed(seed + 1, 200)]).sort(dim=0).values
    assert bool((scores(more).diff(dim=0) >= -1e-5).all())
    moved = factor * x.double() + shift
    assert torch.allclose(fitted(moved.float())(moved.float()), scores(x), atol=0.03)


def test_what_differs_by_rounding_alone_is_constant() -> None:
    x = long_tailed(3)
    x[:, 1] = 1e-8 * torch.randn(len(x))
    found = fitted(x)(x)
    assert bool((found[:, 1] == 0).all())
    assert float(found[:, 0].std()) == pytest.approx(1, abs=0.01)


def test_doubles_views_and_numbers_without_end_are_answered() -> None:
    x = long_tailed(4)
    scores = fitted(x)
    assert torch.equal(scores(x.double()), scores(x))
    assert torch.equal(scores(x.reshape(50, 4, 10, 3)), scores(x).reshape(50, 4, 10, 3))
    ends = torch.tensor([[torch.inf] * 3, [-torch.inf] * 3])
    assert bool(scores(ends).isfinite().all())


def test_two_values_stay_two_and_a_constant_column_says_nothing() -> None:
    x = torch.zeros(100, 2)
    x[:10, 0] = 1
    found = fitted(x)(x)
    assert len(torch.unique(found[:, 0])) == 2
    assert float(found[0, 0]) == pytest.approx(3, abs=0.01)  # (1 − 0.1) / 0.3
    assert bool((found[:, 1] == 0).all())
    assert bool((fitted(x)(x + 1)[:, 1] == 0).all())


def test_values_beyond_those_of_the_fit_get_the_last_score() -> None:
    x = long_tailed(2)
    scores = fitted(x)
    own, ends = scores(x), scores(torch.tensor([[-1e30] * 3, [1e30] * 3]))
    assert torch.equal(ends[1], own.amax(dim=0))
    assert torch.equal(ends[0], own.amin(dim=0))

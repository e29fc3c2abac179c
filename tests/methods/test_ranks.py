from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from torch import Tensor

from fairgear.methods.ranks import RankScores


def fitted(x: Tensor) -> RankScores:
    return RankScores(x.shape[1]).fit(x)


def long_tailed(seed: int, n: int = 2000) -> Tensor:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), np.exp(2 * rng.normal(size=n)), rng.poisson(3, size=n)]
    return torch.tensor(np.stack(columns, axis=1), dtype=torch.float32)


def test_scores_are_ranks_at_unit_variance() -> None:
    x = long_tailed(0)
    found = fitted(x)(x).numpy()
    for column in range(3):
        ranks = rankdata(x[:, column].double().numpy())
        expected = (ranks - ranks.mean()) / ranks.std()
        away = np.abs(found[:, column] - expected)
        # Least sure where people crowd at one end; counts are exact.
        assert away.max() < (1e-4 if column == 2 else 0.06)
        assert away.mean() < 0.005


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
    order = x.sort(dim=0).values
    assert bool((scores(order).diff(dim=0) >= -1e-5).all())
    moved = factor * x.double() + shift
    assert torch.allclose(fitted(moved.float())(moved.float()), scores(x), atol=0.03)


def test_what_differs_by_rounding_alone_is_constant() -> None:
    x = long_tailed(3)
    x[:, 1] = 1e-8 * torch.randn(len(x))
    found = fitted(x)(x)
    assert bool((found[:, 1] == 0).all())
    assert float(found[:, 0].std()) == pytest.approx(1, abs=0.01)


def test_doubles_and_numbers_without_end_are_answered() -> None:
    x = long_tailed(4)
    scores = fitted(x)
    assert torch.equal(scores(x.double()), scores(x))
    ends = torch.tensor([[torch.inf] * 3, [-torch.inf] * 3])
    assert bool(scores(ends).isfinite().all())


def test_two_values_stay_two_and_a_constant_column_says_nothing() -> None:
    x = torch.zeros(100, 2)
    x[:10, 0] = 1
    found = fitted(x)(x)
    assert len(found[:, 0].unique()) == 2
    assert float(found[0, 0]) == pytest.approx(3, abs=0.01)  # (1 − 0.1) / 0.3
    assert bool((found[:, 1] == found[0, 1]).all())
    assert bool(found.isfinite().all())


def test_values_beyond_those_of_the_fit_get_the_last_score() -> None:
    x = long_tailed(2)
    scores = fitted(x)
    ends = scores(torch.tensor([[-1e30] * 3, [1e30] * 3]))
    assert bool(ends.isfinite().all())
    assert bool((ends[1] >= scores(x).amax(dim=0) - 1e-4).all())
    assert bool((ends[0] <= scores(x).amin(dim=0) + 1e-4).all())

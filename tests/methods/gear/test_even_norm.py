"""The norm that is nearly the same for everybody: a factor shows in it, and little else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fairgear.methods.gear import inputs
from fairgear.methods.gear.inputs import EvenNorm


def people(n: int = 2000, seed: int = 0, noise: int = 0) -> Tensor:
    """Amounts with tails, a count, two kinds of people, and columns that tell nothing."""
    drawn = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 2, (n, 1), generator=drawn)
    amounts = torch.randn(n, 2, generator=drawn).exp() / 5 + 0.3
    count = torch.randint(0, 7, (n, 1), generator=drawn) - 2
    rest = torch.randn(n, noise, generator=drawn) / 3
    return torch.cat([2.0 * kind - 1, amounts, count.float(), rest], dim=1)


def unevenness(values: Tensor) -> float:
    return float(values.std() / values.mean())


@given(st.integers(0, 10), st.floats(1e-6, 1e6))
def test_a_factor_shows_in_full(seed: int, factor: float) -> None:
    norm, asked = EvenNorm(4).fit(people(300)), people(50, seed)
    torch.testing.assert_close(
        norm(factor * asked), factor * norm(asked), rtol=1e-4, atol=1e-6 * factor
    )


def test_one_mending_is_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_TAILS", (3.0,))
    x = people()
    own = x.double().numpy()
    first = np.sqrt((own**2 / (own**2).mean(axis=0)).mean(axis=1))
    unit = own / first[:, None]
    z = (unit - unit.mean(axis=0)) / unit.std(axis=0)
    z = z / (1 + np.abs(z) / 3)
    products = [z[:, i] * z[:, j] for i in range(4) for j in range(i, 4)]
    told = np.column_stack([np.ones(len(z)), z, *products])
    weights = np.linalg.lstsq(told, np.log(first), rcond=None)[0]
    expected = np.exp(np.log(first) - told @ weights)
    np.testing.assert_allclose(EvenNorm(4).fit(x)(x).numpy(), expected, rtol=2e-3)


@pytest.mark.parametrize(("noise", "share"), [(0, 0.25), (10, 0.4), (60, 0.5)])
def test_it_is_more_even_than_the_norm_for_people_it_has_not_seen(noise: int, share: float) -> None:
    norm = EvenNorm(4 + noise).fit(people(5000, noise=noise))
    others = people(1000, seed=1, noise=noise)
    assert unevenness(norm(others)) < share * unevenness(others.norm(dim=1))


def test_each_mending_makes_it_more_even() -> None:
    x = people()
    norm = EvenNorm(4).fit(x)
    found = [value := norm._first(x)]
    for correction in norm.corrections:
        found.append(value := correction(x, value))
    steps = [unevenness(each) for each in found]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < 0.3 * steps[0]


def test_few_people_and_many_columns_leave_it_a_length() -> None:
    norm = EvenNorm(44).fit(people(12, noise=40))
    found = norm(people(100, seed=2, noise=40))
    assert bool(((found > 0.2) & (found < 5)).all())


@pytest.mark.parametrize("columns", [300, 100])
def test_people_are_not_learned_by_heart(columns: int) -> None:
    drawn = torch.Generator().manual_seed(0)
    x, others = torch.randn(2, 300, columns, generator=drawn) + 0.3
    norm = EvenNorm(columns).fit(x)
    assert unevenness(norm(others)) < 1.15 * unevenness(others.norm(dim=1))


def test_nobody_is_mended_by_more_than_anybody_was_off() -> None:
    x = people()
    norm = EvenNorm(4).fit(x)
    found = norm.state_dict()
    assert float(found["corrections.0.most"]) == pytest.approx(
        float(norm._first(x).log().abs().max()), rel=1e-5
    )
    for name in (name for name in found if name.endswith("most")):
        found[name].fill_(0.02)
    off = (norm(x) / norm._first(x)).log().abs()
    assert 0.05 < float(off.max()) < 0.0601


def test_people_with_nothing_say_nothing() -> None:
    x = people()
    expected = EvenNorm(4).fit(x[300:])(x[300:])
    x[:200] = 0
    x[200:300] *= 1e-8
    norm = EvenNorm(4).fit(x)
    found = norm(x)
    assert bool(torch.isfinite(x / found[:, None]).all())
    assert unevenness(found[300:]) < 1.05 * unevenness(expected)


def test_a_column_of_zeros_and_tiny_units_change_nothing() -> None:
    x = people()
    whole = EvenNorm(4).fit(x)(x)
    units = torch.tensor([1e-9, 1.0, 1e9, 1.0])
    torch.testing.assert_close(EvenNorm(4).fit(x * units)(x * units), whole, rtol=1e-3, atol=0)
    wider = torch.cat([x, torch.zeros(len(x), 1)], dim=1)
    assert unevenness(EvenNorm(5).fit(wider)(wider)) < 1.05 * unevenness(whole)


@pytest.mark.parametrize("columns", [20, 400])
def test_leading_directions_are_those_of_the_largest_singular_values(columns: int) -> None:
    drawn = torch.Generator().manual_seed(1)
    sizes = 0.8 ** torch.arange(columns, dtype=torch.float64)
    z = torch.randn(500, columns, generator=drawn, dtype=torch.float64) * sizes
    found = inputs._leading_directions(z, 5)
    expected = np.linalg.svd(z.numpy())[2][:5][::-1]
    np.testing.assert_allclose(np.abs((found.numpy() * expected.T).sum(axis=0)), 1, atol=1e-3)


def test_of_many_people_a_part_says_what_length_is(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every other person is of a kind with other units: a regular choice would miss it.
    x = people()
    x[1::2, 1:] *= 4
    whole = EvenNorm(4).fit(x)(x)
    monkeypatch.setattr(inputs, "_PEOPLE", 1000)
    part = EvenNorm(4).fit(x)
    assert not torch.equal(part(x), whole)
    assert torch.equal(part(x), EvenNorm(4).fit(x)(x))
    assert float((part(x) / whole).log().abs().mean()) < 0.02


def test_it_is_saved_with_the_weights() -> None:
    norm, copy, x = EvenNorm(4).fit(people()), EvenNorm(4), people(20, seed=3)
    copy.load_state_dict(norm.state_dict())
    assert torch.equal(copy(x), norm(x))

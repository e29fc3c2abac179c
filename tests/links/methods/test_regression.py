"""Regressions of pairs: all pairs at once are each pair alone, and the formula."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.links.methods import regression
from fairgear.links.methods.regression import PairRegression

OPERATORS = ("distance", "product", "sum", "first", "second")


def made(operators: tuple[str, ...], width: int, seed: int) -> PairRegression:
    found = PairRegression(operators, width)
    draw = torch.Generator().manual_seed(seed)
    found.linear.w.copy_(torch.randn(len(found.linear.w), generator=draw, dtype=torch.float64))
    found.linear.b.fill_(0.3)
    return found


@given(
    st.lists(st.sampled_from(OPERATORS), min_size=1, unique=True),
    st.integers(1, 4),
    st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None)
def test_logits_are_sums_of_weighted_parts(operators: list[str], width: int, seed: int) -> None:
    model = made(tuple(operators), width, seed)
    x = torch.randn(6, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    weights = model.linear.w.numpy().reshape(len(operators), width)
    expected = np.full((6, 6), 0.3)
    for i, j in product(range(6), range(6)):
        a, b = x[i].numpy(), x[j].numpy()
        parts = {"distance": abs(a - b), "product": a * b, "sum": a + b, "first": a, "second": b}
        for name, weight in zip(operators, weights, strict=True):
            expected[i, j] += weight @ parts[name]
    rows = torch.tensor([4, 0, 2])
    np.testing.assert_allclose(model.block(x, rows), expected[rows], atol=1e-10)
    ends = torch.tensor(list(product(range(6), range(6)))).T
    np.testing.assert_allclose(model(x, ends), expected.ravel(), atol=1e-10)


def test_parts_of_many_pairs_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(OPERATORS, 3, 1)
    x = torch.randn(9, 3, dtype=torch.float64)
    ends = torch.randint(9, (2, 50))
    whole = model(x, ends)
    monkeypatch.setattr(regression, "_CHUNK", 7)
    torch.testing.assert_close(model(x, ends), whole)

"""Heads, by their formulae."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fairgear.links.base import Floats
from fairgear.links.methods import heads
from fairgear.links.methods.heads import HEADS, BilinearHead, DotHead, MlpHead, PairHead

KINDS = list(product(HEADS, [False, True]))


def made(name: str, directed: bool, dim: int = 5) -> PairHead:
    """A head whose parameters are all random, its bias too."""
    torch.manual_seed(0)
    head = HEADS[name](dim, directed)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return head.requires_grad_(False)


def people(count: int, dim: int = 5) -> Tensor:
    return torch.randn(count, dim, generator=torch.Generator().manual_seed(1))


def linear(module: nn.Module, x: Floats) -> Floats:
    """By the module's weights."""
    assert isinstance(module, nn.Linear)
    bias = 0.0 if module.bias is None else module.bias.double().numpy()
    found: Floats = module.weight.double().numpy() @ x + bias
    return found


def by_hand(head: PairHead, one: Tensor, other: Tensor) -> float:
    """The formula of the docstring, for one pair."""
    a, b = one.double().numpy(), other.double().numpy()
    if isinstance(head, DotHead):
        if head.directed:
            a, b = linear(head.source, a), linear(head.target, b)
        return float(head.scale) * float(a @ b) + float(head.bias)
    if isinstance(head, BilinearHead):
        w = head.weight.double().numpy()
        return float(a @ (w if head.directed else (w + w.T) / 2) @ b) + float(head.bias)
    assert isinstance(head, MlpHead)
    x = np.concatenate([a, b, a * b] if head.directed else [a + b, a * b, abs(a - b)])
    first, _, last = head.layers
    return float(linear(last, np.maximum(linear(first, x), 0))[0])


@pytest.mark.parametrize(("name", "directed"), KINDS)
def test_logits_are_those_of_the_formula(name: str, directed: bool) -> None:
    head, z = made(name, directed), people(6)
    found = head(z[:3], z[3:])
    expected = [by_hand(head, one, other) for one, other in zip(z[:3], z[3:], strict=True)]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(("name", "directed"), KINDS)
def test_a_block_is_all_pairs(name: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several parts, the last of which is smaller.
    monkeypatch.setattr(heads, "_ENTRIES", 3 * 5 * 4 * 3)
    head, z = made(name, directed), people(11)
    block = head.block(z[:4], z)
    assert block.shape == (4, 11)
    expected = [[by_hand(head, one, other) for other in z] for one in z[:4]]
    np.testing.assert_allclose(block.numpy(), expected, atol=1e-5)


@given(st.sampled_from(list(HEADS)), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_without_directions_both_orders_agree(name: str, seed: int) -> None:
    z = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(seed))
    head = made(name, directed=False)
    torch.testing.assert_close(head(z[0], z[1]), head(z[1], z[0]), atol=1e-5, rtol=1e-5)
    head = made(name, directed=True)
    assert not torch.allclose(head(z[0], z[1]), head(z[1], z[0]), atol=1e-3)

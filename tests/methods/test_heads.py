"""Heads: losses, answers and boundaries of every kind of label."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fairgear.graph import Target
from fairgear.methods.heads import Head
from fairgear.methods.thresholds import decide, most_accurate, most_accurate_offsets

THREE = Head(Target("multiclass", ("a", "b", "c")))
NUMBER = Head(Target("regression", (), 10.0, 4.0))


def test_losses() -> None:
    logits = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    by_hand = -logits.log_softmax(dim=1)[torch.arange(7), y].mean()
    assert float(THREE.loss(logits, y)) == pytest.approx(float(by_hand))
    numbers = torch.tensor([2.0, 14.0], dtype=torch.float64)
    assert float(NUMBER.loss(torch.tensor([0.0, 0.0]), numbers)) == pytest.approx((4 + 1) / 2)
    assert NUMBER.answers(torch.tensor([0.5]))[0, 0] == 12.0
    one = torch.randn(7)
    expected = F.binary_cross_entropy_with_logits(one, (y > 0).float())
    assert torch.equal(Head().loss(one, (y > 0).long()), expected)


def test_scores() -> None:
    rng = np.random.default_rng(0)
    logits, y = torch.from_numpy(rng.normal(size=(60, 3))), torch.from_numpy(rng.integers(0, 3, 60))
    expected = roc_auc_score(y, logits.softmax(dim=1), multi_class="ovr")
    assert THREE.score(y, logits) == pytest.approx(expected)
    numbers = torch.tensor([10.0, 14.0], dtype=torch.float64)
    assert NUMBER.score(numbers, torch.tensor([0.0, 0.0])) == pytest.approx(-np.sqrt(0.5))
    assert NUMBER.score(numbers, torch.tensor([torch.nan, 0.0])) == -np.inf
    assert THREE.score(y, logits * torch.nan) == 0


@given(seed=st.integers(0, 1000))
def test_the_consistency_of_two_classes_is_the_binary_one(seed: int) -> None:
    """With centred logits (−ℓ/2, ℓ/2), 2‖softmax(2ℓ) − softmax(2ℓ')‖² is (tanh ℓ − tanh ℓ')²."""
    one, other = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, 9)))
    two = Head(Target("multiclass", ("a", "b")))
    none = torch.zeros(())
    expected = Head().gaps(*(Head().decided(of, none) for of in (one, other)))
    pairs = [torch.stack([-of / 2, of / 2], dim=1) for of in (one, other)]
    found = two.gaps(*(two.decided(of, torch.zeros(2)) for of in pairs))
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-12)


@given(seed=st.integers(0, 1000))
def test_offsets_are_most_accurate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, y = rng.dirichlet([1, 1], 30), rng.integers(0, 2, 30)
    offsets = most_accurate_offsets(y, scores)
    cut = most_accurate(y, scores[:, 1])
    found = (np.log(scores) + offsets).argmax(axis=1)
    assert (found == y).mean() == ((scores[:, 1] > cut) == y).mean()
    scores, y = rng.dirichlet([1, 1, 1], 30), rng.integers(0, 3, 30)
    found = decide(scores, THREE.target, 0.5, most_accurate_offsets(y, scores))
    plain = decide(scores, THREE.target, 0.5, None)
    assert (found == y).mean() >= (plain == y).mean()
    # One class at a time: no offset of the last class alone would be better.
    offsets = most_accurate_offsets(y, scores)
    margins = (np.log(scores) + np.array([0, offsets[1], -np.inf])).max(axis=1)
    margins -= np.log(scores[:, 2])
    for last in np.linspace(margins.min(), margins.max(), 50)[1:-1]:
        tried = (np.log(scores) + np.array([0, offsets[1], last])).argmax(axis=1)
        assert (tried == y).mean() <= (found == y).mean() + 1e-12


def test_what_differs() -> None:
    cut = torch.zeros(3)
    logits = torch.tensor([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    assert THREE.labels(logits, cut).tolist() == [0, 1]
    assert THREE.differ(torch.tensor([0, 1]), torch.tensor([0, 2])).tolist() == [False, True]
    apart = NUMBER.differ(torch.tensor([0.0, 0.0]), torch.tensor([0.09, 0.11]))
    assert apart.tolist() == [False, True]
    for head, kind in product((THREE, NUMBER), (0, 1)):
        assert head.outputs == (3, 1)[head is NUMBER], kind

"""Dropout by bytes."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.nn.heads import dropout, keep_mask


@given(share=st.floats(0, 0.99), size=st.integers(0, 50))
def test_bytes_drop_the_nearest_256th(share: float, size: int) -> None:
    kept, dropped = keep_mask((size, 3), share)
    assert kept.shape == (size, 3)
    assert abs(dropped - share) <= 1 / 512 + 1e-12
    assert dropped < 1


def test_every_byte_of_a_draw_is_as_random_as_the_others() -> None:
    torch.manual_seed(1)
    kept, dropped = keep_mask((50_000, 8), 0.3)
    # Column j is byte j of a word; five standard errors of a share of 50,000.
    assert torch.allclose(kept.double().mean(dim=0), torch.tensor(1 - dropped).double(), atol=0.011)
    together = torch.corrcoef(kept.double().T) - torch.eye(8)
    assert float(together.abs().max()) < 0.025


def test_dropout_scales_what_it_keeps_and_rests_outside_training() -> None:
    x = torch.ones(1000, 7, requires_grad=True)
    dropped = dropout(x, 0.5, True)
    assert set(torch.unique(dropped.detach()).tolist()) == {0.0, 2.0}
    dropped.sum().backward()  # type: ignore[no-untyped-call]  # torch gives it no type
    assert x.grad is not None
    assert torch.equal(x.grad, dropped.detach())
    assert dropout(x, 0.5, False) is x
    assert dropout(x, 0.0, True) is x


def test_a_seed_gives_the_same_draws() -> None:
    torch.manual_seed(4)
    first = keep_mask((11,), 0.5)[0]
    torch.manual_seed(4)
    assert torch.equal(first, keep_mask((11,), 0.5)[0])

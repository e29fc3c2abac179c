"""The hidden layer that is never held against the same in plain steps; dropout by bytes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fairgear.nn import ENCODERS, fused
from fairgear.nn.dropout import Dropout, drop_bytes, dropout

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def plain(inputs: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
    return torch.bmm(rows, torch.relu(inputs @ weight.T))


def example(egos: int, members: int, width: int, out: int, device: str) -> tuple[Tensor, ...]:
    torch.manual_seed(egos + members)
    inputs, rows = torch.randn(egos, members, width), torch.rand(egos, 2, members)
    weight = torch.randn(out, width)
    return inputs.to(device), weight.to(device).requires_grad_(), rows.to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("block", [1, 500, 2**19])
@pytest.mark.parametrize("shape", [(7, 5, 9, 33), (1, 1, 3, 2), (40, 20, 16, 64)])
def test_values_and_gradients_are_those_of_plain_steps(
    shape: tuple[int, int, int, int], block: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "_BLOCK", block)
    inputs, weight, rows = example(*shape, device)
    found = fused.read_hidden(inputs, weight, rows, 0.0)
    expected = plain(inputs, weight, rows)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    gradient = torch.randn_like(expected)
    own, other = (torch.autograd.grad(value, weight, gradient)[0] for value in (found, expected))
    torch.testing.assert_close(own, other, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_keeps_the_mean_and_the_gradient_follows_what_was_kept(device: str) -> None:
    inputs, weight, rows = example(6, 8, 5, 30, device)
    draws = [fused.read_hidden(inputs, weight, rows, 0.25) for _ in range(400)]
    expected = plain(inputs, weight, rows)
    mean = torch.stack(draws).mean(dim=0)
    # 400 draws: six standard errors of the largest.
    assert float((mean - expected).detach().abs().max()) < 0.3 * float(expected.detach().max())
    assert not torch.equal(draws[0], draws[1])
    # The operation is linear in the weights where the signs stay: its value is its gradient's.
    (gradient,) = torch.autograd.grad(draws[0].sum(), weight)
    torch.testing.assert_close((gradient * weight).sum(), draws[0].sum(), atol=1e-2, rtol=1e-3)


def test_the_encoder_gives_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    encoder = ENCODERS["graphsage"](6, 16, 2, 0.5).eval()
    x, mask = torch.randn(5, 7, 6), torch.ones(5, 7, dtype=torch.bool)
    adjacency = torch.bernoulli(torch.full((5, 7, 7), 0.4)).triu(1)
    adjacency = adjacency + adjacency.transpose(1, 2)
    fast = encoder(x, adjacency, mask)
    monkeypatch.setattr(fused, "available", lambda inputs: False)
    torch.testing.assert_close(fast, encoder(x, adjacency, mask), atol=1e-5, rtol=1e-5)


def test_inputs_with_gradients_go_the_plain_way() -> None:
    x = torch.randn(2, 3, 4, requires_grad=True)
    assert not fused.available(x)
    assert fused.available(x.detach())


@given(share=st.floats(0, 0.99), size=st.integers(0, 50))
def test_bytes_drop_the_nearest_256th(share: float, size: int) -> None:
    kept, dropped = drop_bytes((size, 3), share)
    assert kept.shape == (size, 3)
    assert abs(dropped - share) <= 1 / 512 + 1e-12
    assert dropped < 1


def test_every_byte_of_a_draw_is_as_random_as_the_others() -> None:
    torch.manual_seed(1)
    kept, dropped = drop_bytes((50_000, 8), 0.3)
    # Column j is byte j of a word; five standard errors of a share of 50,000.
    assert torch.allclose(kept.double().mean(dim=0), torch.tensor(1 - dropped).double(), atol=0.011)
    together = torch.corrcoef(kept.double().T) - torch.eye(8)
    assert float(together.abs().max()) < 0.025


def test_dropout_scales_what_it_keeps_and_rests_outside_training() -> None:
    x = torch.ones(1000, 7, requires_grad=True)
    layer = Dropout(0.5)
    dropped = layer(x)
    assert set(dropped.detach().unique().tolist()) == {0.0, 2.0}
    dropped.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, dropped.detach())
    assert layer.eval()(x) is x
    assert dropout(x, 0.0, True) is x


def test_a_seed_gives_the_same_draws() -> None:
    torch.manual_seed(4)
    first = drop_bytes((11,), 0.5)[0]
    torch.manual_seed(4)
    assert torch.equal(first, drop_bytes((11,), 0.5)[0])

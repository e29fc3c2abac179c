"""Precisions: what each rounds, and that the setting does not outlast the block."""

from __future__ import annotations

import torch

from fairgear.training.precision import computing, forward_in

CPU = torch.device("cpu")


def test_bf16_rounds_products_and_leaves_weights_alone() -> None:
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    with forward_in("bf16", CPU):
        rounded = layer(x)
    assert rounded.dtype == torch.bfloat16
    assert layer.weight.dtype == torch.float32
    torch.testing.assert_close(rounded.float(), layer(x), atol=0.05, rtol=0.05)


def test_float32_changes_nothing() -> None:
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    outside = layer(x)
    with computing("float32"), forward_in("float32", CPU):
        assert torch.equal(layer(x), outside)
        assert layer(x).dtype == torch.float32
        assert not torch.backends.cuda.matmul.allow_tf32


def test_the_setting_ends_with_the_block() -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    with computing("tf32"):
        assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cuda.matmul.allow_tf32 == before

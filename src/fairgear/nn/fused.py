"""Two layers at the centre of an ego as one operation that never holds the hidden layer.

The hidden layer of a batch is some forty megabytes at width 1,024, and relu, dropout, the mean
over neighbours and their gradients pass over it a dozen times, which takes longer than all
products. Here a block of it is computed, read and dropped again while it is in a cache, or on a
card in registers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fairgear.nn import fused_cuda
from fairgear.nn.dropout import batched, drop_bytes

# Numbers of the hidden layer in a block: two megabytes, which a core's cache holds.
_BLOCK = 2**19


def available(inputs: Tensor) -> bool:
    """Whether it can be done for these inputs, and pays."""
    if inputs.requires_grad:
        return False
    if inputs.is_cuda:
        return fused_cuda.available(inputs.shape[-1])
    # Autocast knows nothing of what is written into buffers here.
    return not batched(inputs) and not torch.is_autocast_enabled("cpu")


def read_hidden(inputs: Tensor, weight: Tensor, rows: Tensor, dropout: float) -> Tensor:
    """rows @ dropout(relu(inputs @ weightᵀ)), as (B, m, out).

    Args:
        inputs: (B, k, in), without gradients.
        weight: (out, in).
        rows: (B, m, k) with what weight each member is read, without gradients.
        dropout: the share of the hidden layer that is dropped; 0 for none.
    """
    if inputs.is_cuda:
        return fused_cuda.read_hidden(inputs, weight, rows, dropout)
    found: Tensor = _ReadInBlocks.apply(inputs, weight, rows, dropout)  # type: ignore[no-untyped-call]  # torch has no type
    return found


class _ReadInBlocks(torch.autograd.Function):
    """Block after block of egos; of the hidden layer only where it is not zero is kept."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, rows: Tensor, dropout: float) -> Tensor:
        egos, members, _ = inputs.shape
        width = len(weight)
        kept = torch.empty(egos, members, width, dtype=torch.bool)
        out = inputs.new_empty(egos, rows.shape[1], width)
        share = 0.0
        for part in _blocks(egos, members * width):
            hidden = inputs[part].flatten(0, 1) @ weight.t()
            here = torch.gt(hidden, 0, out=kept[part].view(-1, width))
            if dropout > 0:
                stays, share = drop_bytes(hidden.shape, dropout)
                here &= stays
            hidden *= here
            torch.bmm(rows[part], hidden.view(-1, members, width), out=out[part])
        ctx.save_for_backward(inputs, rows, kept)
        ctx.scale = 1 / (1 - share)
        return out.mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, rows, kept = ctx.saved_tensors
        egos, members, width = kept.shape
        gradient = gradients[0] * ctx.scale
        total = gradient.new_zeros(width, inputs.shape[2])
        for part in _blocks(egos, members * width):
            moved = torch.bmm(rows[part].transpose(1, 2), gradient[part]).mul_(kept[part])
            total.addmm_(moved.flatten(0, 1).t(), inputs[part].flatten(0, 1))
        return None, total, None, None


def _blocks(egos: int, size: int) -> list[slice]:
    step = max(1, _BLOCK // size)
    return [slice(begin, min(begin + step, egos)) for begin in range(0, egos, step)]

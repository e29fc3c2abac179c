"""What `fused` does on a CUDA card: a Triton kernel, which keeps the hidden layer in registers.

Each block of it is computed again when the gradient is asked for. Triton comes with torch's CUDA
builds; where it is missing, layers run as they are written in `layers`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

# Rows of members that a block holds at a time, columns of their hidden layer, how many times over
# in the forward pass, and parts into which the egos are divided when gradients are summed.
_ROWS, _COLUMNS, _REPEATS, _PARTS = 64, 64, 8, 16
_WARPS = 4
# Of the inputs of a block: twice the features and one.
_WIDEST = 128


@functools.cache
def _kernels() -> Any | None:
    try:
        from fairgear.nn import fused_kernels
    except ImportError:
        return None
    return fused_kernels


def available(features: int) -> bool:
    """Whether there is Triton, tensor cores may be used, and a block fits a card's fast memory.

    In full float32 the kernel's products take longer than what it spares.
    """
    fits = 2 * features + 1 <= _WIDEST
    return torch.backends.cuda.matmul.allow_tf32 and fits and _kernels() is not None


def read_hidden(inputs: Tensor, weight: Tensor, rows: Tensor, dropout: float) -> Tensor:
    """See `fused.read_hidden`."""
    seed = torch.randint(2**31 - 1, (1,), device=inputs.device)
    stacked = (inputs[None], weight[None], rows[None], seed)
    found: Tensor = _apply(_ReadHidden, *stacked, dropout, _precision())
    return found[0]


class _ReadHidden(torch.autograd.Function):
    """The same for a stack of seeds (S, …): each has its own inputs, weights and dropout."""

    @staticmethod
    def forward(
        inputs: Tensor, weight: Tensor, rows: Tensor, seed: Tensor, dropout: float, precision: str
    ) -> Tensor:
        kernels = _kernels()
        assert kernels is not None
        inputs, weight, rows = inputs.contiguous(), weight.contiguous(), rows.contiguous()
        stack, egos, _, width = inputs.shape
        columns = weight.shape[1]
        out = inputs.new_empty(stack, egos, rows.shape[2], columns)
        sizes = _sizes(inputs, rows)
        grid = (-(-egos // (sizes["GROUP"] * _REPEATS)), -(-columns // _COLUMNS), stack)
        kernels.forward[grid](
            *(inputs, weight, rows, seed, out, egos, width, columns, dropout),
            **sizes,
            REPEATS=_REPEATS,
            PRECISION=precision,
            num_warps=_WARPS,
        )
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.dropout, ctx.precision = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        given = (*ctx.saved_tensors, gradients[0], ctx.dropout, ctx.precision)
        weight = _apply(_ReadHiddenGradient, *given)
        return None, weight, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        found = _apply(_ReadHidden, *_joined(info, in_dims, inputs))
        return found[:, None], 0


class _ReadHiddenGradient(torch.autograd.Function):
    """The gradient of the weights; a function of its own so that stacks of seeds can ask too."""

    @staticmethod
    def forward(
        inputs: Tensor,
        weight: Tensor,
        rows: Tensor,
        seed: Tensor,
        gradient: Tensor,
        dropout: float,
        precision: str,
    ) -> Tensor:
        kernels = _kernels()
        assert kernels is not None
        inputs, weight, rows, gradient = (
            t.contiguous() for t in (inputs, weight, rows, gradient.float())
        )
        stack, egos, _, width = inputs.shape
        columns = weight.shape[1]
        sums = inputs.new_empty(_PARTS, *weight.shape)
        kernels.backward[(_PARTS, -(-columns // _COLUMNS), stack)](
            *(inputs, weight, rows, seed, gradient, sums, egos, width, columns, dropout),
            **_sizes(inputs, rows),
            PARTS=_PARTS,
            PRECISION=precision,
            num_warps=_WARPS,
        )
        return sums.sum(dim=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, ...]:
        raise NotImplementedError("second gradients of a fused layer")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        found = _apply(_ReadHiddenGradient, *_joined(info, in_dims, inputs))
        return found[:, None], 0


def _joined(info: Any, in_dims: tuple[Any, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """Arguments of one seed each, (S, 1, …), as those of a stack."""
    joined = []
    for value, dim in zip(inputs, in_dims, strict=True):
        if isinstance(value, Tensor):
            moved = value[None].expand(info.batch_size, *value.shape) if dim is None else value
            moved = moved if dim in (None, 0) else moved.movedim(dim, 0)
            value = moved.flatten(0, 1)
        joined.append(value)
    return joined


def _sizes(inputs: Tensor, rows: Tensor) -> dict[str, int]:
    """The sizes of a block, which the kernels are compiled for."""
    members, readers = inputs.shape[2], rows.shape[2]
    group = max(1, _ROWS // members)
    return {
        "READERS": readers,
        "SIZE": members,
        "GROUP": group,
        "ROWS": max(_ROWS, _power(members)),
        "READS": max(16, _power(group * readers)),
        "WIDTH": max(16, _power(inputs.shape[3])),
        "COLUMNS": _COLUMNS,
    }


def _power(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _precision() -> str:
    """At least that of the products around; see `training.precision`."""
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"


def _apply(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    found: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]  # torch has no type
    return found

"""With how many bits products of matrices are computed; weights and sums stay float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def forward_in(precision: str, device: torch.device) -> torch.autocast:
    """Inside, a forward pass is computed in that precision, and its backward pass will be too.

    `bf16` rounds factors and results to 7 bits, on any device.
    """
    return torch.autocast(
        device.type, torch.bfloat16, enabled=precision == "bf16", cache_enabled=False
    )


@contextmanager
def computing(precision: str) -> Iterator[None]:
    """Inside, forward and backward products are of that precision, unless `forward_in` says so.

    `tf32` rounds the factors to 10 bits on cards that can, and is float32 elsewhere.
    """
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision != "float32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before

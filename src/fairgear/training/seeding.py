"""Randomness as a function of seed and step, so that a resumed run needs no saved generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, *labels: object) -> Iterator[None]:
    """Inside, torch's generators start from (seed, labels); outside they are unchanged.

    Example:
        >>> import torch
        >>> from fairgear.training import seeded
        >>> with seeded(0, "step", 7):
        ...     first = torch.rand(2)
        >>> with seeded(0, "step", 7):
        ...     print(bool((torch.rand(2) == first).all()))
        True
    """
    text = ":".join(str(part) for part in (seed, *labels))
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") % 2**63
    # Only the current GPU: touching the others would open a context on each.
    devices = [torch.cuda.current_device()] if _on_cuda() else []
    with torch.random.fork_rng(devices=devices):
        reseed(number)
        yield


def reseed(number: int) -> None:
    """Seed torch's generators.

    As torch.manual_seed, but only for devices in use: it walks the stack for each of the others,
    which took longer than a small training step.
    """
    torch.default_generator.manual_seed(number)
    if _on_cuda():
        torch.cuda.manual_seed(number)


def _on_cuda() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]  # torch has no type

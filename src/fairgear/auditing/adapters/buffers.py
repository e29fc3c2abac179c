"""The state that a module keeps in its buffers, put back after it was asked."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def remember(module: nn.Module) -> Callable[[], bool]:
    """Copy every buffer; returns what puts all back, and says whether there was anything to."""
    kept = []
    for part in module.modules():
        held: dict[str, Tensor | None] = dict(part._buffers.items())
        copies = {name: _copied(value) for name, value in held.items() if value is not None}
        kept.append((part, held, copies))

    def put_back() -> bool:
        changed = [_restored(part, held, copies) for part, held, copies in kept]
        return any(changed)

    return put_back


def _copied(value: Tensor) -> tuple[Tensor, int]:
    return value.detach().clone(), value._version


def _restored(
    part: nn.Module, held: dict[str, Tensor | None], copies: dict[str, tuple[Tensor, int]]
) -> bool:
    """Whether a part of the module had changed its own buffers, which it now has not."""
    new = [name for name in part._buffers if name not in held]
    for name in new:
        delattr(part, name)
    changed = bool(new)
    for name, value in held.items():
        if getattr(part, name) is not value:
            setattr(part, name, value)
            changed = True
        # The tensor itself, not only its name: others may hold it.
        if value is not None and not _is_still(value, *copies[name]):
            with torch.no_grad():
                value.copy_(copies[name][0])
            changed = True
    return changed


def _is_still(value: Tensor, copy: Tensor, version: int) -> bool:
    if value.layout != torch.strided:
        # Sparse ones cannot be compared by value, but count what is done to them.
        return value._version == version
    if value.shape != copy.shape:
        return False
    # What is no number must stay none, and equals nothing.
    return bool(((value == copy) | ((value != value) & (copy != copy))).all())

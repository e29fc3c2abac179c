"""Whom steps of Gear move, and to which group."""

from __future__ import annotations

import pytest
from torch import Tensor

from fairgear.methods.gear.family import MovedPeople

# What draws everybody's other group.
ASSIGNMENT = "fairgear.methods.gear.training.assignment"


def whom_it_moves(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The rows, models and draws that are asked for from now on."""
    seen: list[tuple[Tensor, Tensor, Tensor]] = []
    call = MovedPeople.__call__

    def spy(self: MovedPeople, rows: Tensor, model: Tensor, draw: Tensor) -> Tensor:
        seen.append((rows, model, draw))
        return call(self, rows, model, draw)

    monkeypatch.setattr(MovedPeople, "__call__", spy)
    return seen

"""Recorded work against plain work; needs a CUDA card."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fairgear.training import seeded
from fairgear.training.adam import adam, set_learning_rate
from fairgear.training.recorded import Recorded

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")


def losses(recorded: bool) -> list[float]:
    with seeded(0, "initialisation"):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5)).cuda()
    optimizer = adam(model, 0.01)

    def update(x: Tensor) -> dict[str, Tensor]:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - torch.rand_like(model(x))).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach()}

    work = Recorded(update) if recorded else update
    found = []
    for number in range(12):
        with seeded(1, "step", number):
            set_learning_rate(optimizer, 0.01 / (1 + number))
            found.append(float(work(torch.randn(6, 4, device="cuda"))["loss"]))
    return found


def test_a_recorded_step_does_what_a_plain_one_does() -> None:
    assert losses(recorded=True) == losses(recorded=False)

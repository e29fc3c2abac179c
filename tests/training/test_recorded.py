"""Recorded work against plain work; needs a CUDA card."""

from __future__ import annotations

import gc

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


def test_an_earlier_recording_that_falls_to_the_collector_does_not_spoil_the_next() -> None:
    earlier = Recorded(lambda x: {"sum": x.sum()})
    x = torch.ones(3, device="cuda")
    for _ in range(5):
        earlier(x)
    around: list[object] = [earlier]
    around.append(around)
    kept = [around]
    del earlier, around

    def work(x: Tensor) -> dict[str, Tensor]:
        if torch.cuda.is_current_stream_capturing():
            # From here on only the collector can free it, which would run with the next object.
            kept.clear()
        return {"sum": torch.stack([x * number for number in range(50)]).sum()}

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        later = Recorded(work)
        found = [float(later(x)["sum"]) for _ in range(5)]
    finally:
        gc.set_threshold(*before)
    assert found == [3 * 49 * 25.0] * 5

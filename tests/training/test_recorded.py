"""Recorded work against plain work, which needs a CUDA card; and what must not disturb it."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from fairgear.training import seeded
from fairgear.training.adam import adam, set_learning_rate
from fairgear.training.recorded import Recorded, _nothing_collected


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")
def test_a_recorded_step_does_what_a_plain_one_does() -> None:
    assert losses(recorded=True) == losses(recorded=False)


class Held:
    """Something in a cycle, which only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_nothing_is_freed_by_the_collector_while_a_recording_is_made() -> None:
    # On a card, to free an earlier recording meanwhile has spoilt the one under way.
    assert gc.isenabled()
    earlier = weakref.ref(Held())
    with _nothing_collected():
        assert earlier() is None
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), _nothing_collected():
        _ = 1 / 0
    assert gc.isenabled()


def test_a_recording_is_made_while_the_collector_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "graph", lambda _: nullcontext())
    resting = []

    def work(x: Tensor) -> dict[str, Tensor]:
        resting.append(not gc.isenabled())
        return {"x": x}

    Recorded(work)._record((torch.ones(1),))
    assert resting == [True]


def test_a_collector_that_rests_goes_on_resting() -> None:
    gc.disable()
    try:
        with _nothing_collected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

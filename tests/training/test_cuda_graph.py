"""A captured step against a plain one, which needs a GPU; and what must not disturb a capture."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from fairgear.training import seeded
from fairgear.training.cuda_graph import (
    CapturedStep,
    _without_garbage_collection,
    adam,
    set_learning_rate,
)


def losses(captured: bool) -> list[float]:
    with seeded(0, "initialisation"):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5)).cuda()
    optimizer = adam(model, 0.01)

    def update(x: Tensor) -> dict[str, Tensor]:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - torch.rand_like(model(x))).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach()}

    work = CapturedStep(update) if captured else update
    found = []
    for number in range(12):
        with seeded(1, "step", number):
            set_learning_rate(optimizer, 0.01 / (1 + number))
            found.append(float(work(torch.randn(6, 4, device="cuda"))["loss"]))
    return found


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_captured_step_does_what_a_plain_one_does() -> None:
    assert losses(captured=True) == losses(captured=False)


class Held:
    """Something in a cycle, which only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_nothing_is_freed_by_the_collector_during_a_capture() -> None:
    # Freeing an earlier graph meanwhile has invalidated the capture under way.
    assert gc.isenabled()
    earlier = weakref.ref(Held())
    with _without_garbage_collection():
        assert earlier() is None
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), _without_garbage_collection():
        _ = 1 / 0
    assert gc.isenabled()


def test_a_capture_is_made_without_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "graph", lambda _: nullcontext())
    resting = []

    def work(x: Tensor) -> dict[str, Tensor]:
        resting.append(not gc.isenabled())
        return {"x": x}

    CapturedStep(work)._capture((torch.ones(1),))
    assert resting == [True]


def test_a_collector_that_rests_goes_on_resting() -> None:
    gc.disable()
    try:
        with _without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

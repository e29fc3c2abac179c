"""Micro-batches: the same for any number of processes, and what they are by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fairgear import distributed
from fairgear.training.micro_batches import accumulated


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))


def test_gradients_buffers_and_terms_are_means_over_the_parts() -> None:
    model, x = network(), torch.randn(12, 3)

    def work(rows: Tensor) -> dict[str, Tensor]:
        loss = model(x[rows]).square().mean()
        loss.backward()
        return {"loss": loss.detach()}

    begin = {name: value.clone() for name, value in model.state_dict().items()}
    gradients: list[list[Tensor]] = []
    running: list[Tensor] = []
    losses = []
    for part in torch.arange(12).tensor_split(3):
        model.load_state_dict(begin)
        model.zero_grad()
        losses.append(work(part)["loss"])
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        norm = model[1]
        assert isinstance(norm, nn.BatchNorm1d)
        assert norm.running_mean is not None
        running.append(norm.running_mean.clone())
    model.load_state_dict(begin)
    model.zero_grad()
    terms = accumulated(3, [model], work, torch.arange(12))
    torch.testing.assert_close(terms["loss"], torch.stack(losses).mean())
    for parameter, parts in zip(model.parameters(), zip(*gradients, strict=True), strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, torch.stack(list(parts)).mean(dim=0))
    norm = model[1]
    assert isinstance(norm, nn.BatchNorm1d)
    torch.testing.assert_close(norm.running_mean, torch.stack(running).mean(dim=0))


def test_a_part_draws_the_same_whichever_process_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(1, 1)
    drawn: list[list[float]] = []

    def work(rows: Tensor) -> dict[str, Tensor]:
        drawn[-1].append(float(torch.rand(())))
        return {}

    after = []
    for rank, size in ((0, 1), (0, 2), (1, 2)):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        monkeypatch.setattr(distributed, "size", lambda size=size: size)
        monkeypatch.setattr(distributed, "all_mean", lambda tensors: None)
        torch.manual_seed(5)
        drawn.append([])
        accumulated(4, [model], work, torch.arange(8))
        after.append(float(torch.rand(())))
    assert len(set(drawn[0])) == 4
    assert drawn[0] == drawn[1] + drawn[2]
    # What follows in the same step is the same everywhere.
    assert len(set(after)) == 1


def test_what_no_batch_changes_stays_to_the_bit() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model.register_buffer("direction", torch.rand(50))
    before = model.get_buffer("direction").clone()
    x = torch.randn(14, 3)

    def work(rows: Tensor) -> dict[str, Tensor]:
        model(x[rows]).sum().backward()
        return {}

    accumulated(7, [model], work, torch.arange(14))
    assert torch.equal(model.get_buffer("direction"), before)
    assert int(model[1].get_buffer("num_batches_tracked")) == 1


def test_one_part_is_the_plain_step() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    terms = accumulated(1, [], lambda rows: {"draw": torch.rand(len(rows))}, torch.arange(2))
    assert torch.equal(terms["draw"], expected)

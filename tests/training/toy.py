"""A small task with everything a resumed run could lose: dropout, batch statistics, Adam."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.training import Task, Validation


class Interrupted(Exception):
    """What stops a run on purpose."""


class Toy(Task):
    """Regression with two modules and two optimisers, drawn batches and dropout."""

    def __init__(self, stop_at: int = -1, init: int = 0) -> None:
        torch.manual_seed(init)
        self.body = nn.Sequential(
            nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)
        )
        self.scale = nn.Linear(1, 1)
        self.modules = {"body": self.body, "scale": self.scale}
        self.optimizers = {
            "body": torch.optim.Adam(self.body.parameters(), lr=0.01, weight_decay=1e-3),
            "scale": torch.optim.Adam(self.scale.parameters(), lr=0.01),
        }
        draw = torch.Generator().manual_seed(1)
        self.x = torch.randn(40, 3, generator=draw)
        self.y = self.x.sum(dim=1, keepdim=True).sin()
        self.stop_at = stop_at
        self.steps_done: list[int] = []

    def step(self, number: int) -> dict[str, Tensor]:
        if number == self.stop_at:
            raise Interrupted
        rows = torch.randint(40, (10,))
        loss = (self.scale(self.body(self.x[rows])) - self.y[rows]).square().mean()
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers.values():
            optimizer.step()
        self.steps_done.append(number)
        return {"loss": loss.detach(), "twice": 2 * loss.detach()}

    def validate(self) -> Validation:
        error = (self.scale(self.body(self.x)) - self.y).square().mean().item()
        return Validation(-error, {"error": error})

    def weights(self) -> dict[str, Tensor]:
        return {
            f"{name}.{key}": value.clone()
            for name, module in self.modules.items()
            for key, value in module.state_dict().items()
        }


def same_weights(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)

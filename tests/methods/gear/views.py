"""Egos in several views, made by hand."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fairgear.methods.egos import Ego
from fairgear.methods.gear.family import MovedPeople
from tests.nn.ego_batches import random_egos


def viewed(views: int = 3, batch: int = 6, k: int = 8, d: int = 5, seed: int = 0) -> Ego:
    """Random egos whose members, all of them different people, have features in several views."""
    ego = random_egos(batch, k, d, seed)
    draw = torch.Generator().manual_seed(seed + 1)
    x = torch.randn(batch, k, views, d, generator=draw) * ego.mask[..., None, None]
    return replace(ego, x=x, n_id=torch.arange(batch * k).reshape(batch, k))


class Given(MovedPeople):
    """Moved people whose views (models, people, views, d) are given; all draws are alike."""

    def __init__(self, views: Tensor) -> None:
        self.models, self._given = len(views), views

    def __call__(self, n_id: Tensor, model: Tensor, draw: Tensor) -> Tensor:
        return self._given[model[:, None], n_id]

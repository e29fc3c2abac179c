"""Adam for any device: on a card its state stays there, so that a step can be recorded."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer


def adam(module: nn.Module, learning_rate: float, weight_decay: float = 0.0) -> Adam:
    """Adam on a module's weights."""
    return adam_of(list(module.parameters()), learning_rate, weight_decay)


def adam_of(parameters: Sequence[Tensor], learning_rate: float, weight_decay: float = 0.0) -> Adam:
    """Adam on these weights, in one pass over memory."""
    on_card = parameters[0].is_cuda
    return Adam(
        list(parameters),
        lr=torch.tensor(learning_rate, device=parameters[0].device) if on_card else learning_rate,
        weight_decay=weight_decay,
        capturable=on_card,
        fused=True,
    )


def set_learning_rate(optimizer: Optimizer, learning_rate: float) -> None:
    """Another learning rate from now on, also for a recorded step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate

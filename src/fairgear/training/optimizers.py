"""Adam for any device; on a GPU its state stays there, so that a CUDA graph can capture a step."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer


def adam(module: nn.Module, learning_rate: float, weight_decay: float = 0.0) -> Adam:
    """Adam on a module's weights, in one pass over memory."""
    parameters = list(module.parameters())
    device = parameters[0].device
    return Adam(
        parameters,
        lr=torch.tensor(learning_rate, device=device) if device.type == "cuda" else learning_rate,
        weight_decay=weight_decay,
        capturable=device.type == "cuda",
        fused=True,
    )


def set_learning_rate(optimizer: Optimizer, learning_rate: float) -> None:
    """Change the learning rate, also for a captured step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate

"""Checkpoints: tensors in safetensors, the rest in its JSON header. Nothing else is ever loaded."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from fairgear.errors import FileError
from fairgear.ranks import ranks
from fairgear.tensor_files import read_tensors, take, write_tensors

# Often enough that a crash costs little, seldom enough that writing takes a twentieth at most.
_SECONDS_BETWEEN = 1.0
_TIMES_WRITING = 20.0


class Checkpoint:
    """One file that a training run writes now and then, and goes on from.

    Args:
        path: the file.
        key: what the run is: its settings and data. A file with another key is not ours.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key
        self._written = time.monotonic()
        self._pause = _SECONDS_BETWEEN

    def due(self) -> bool:
        """Whether it is time to write again, in all processes of a job or in none."""
        return ranks().agreed(time.monotonic() - self._written > self._pause)

    def write(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Replace the file in one step; of the processes of a job, the first does."""
        if not ranks().first:
            return
        begin = time.monotonic()
        write_tensors(self.path, tensors, {"key": self.key, **facts})
        self._written = time.monotonic()
        self._pause = max(_SECONDS_BETWEEN, _TIMES_WRITING * (self._written - begin))

    def read(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """What was written last, or None where there is nothing of this run.

        All processes of a job go on from the same state, or none goes on.
        """
        found = read_tensors(self.path) if self.path.exists() else None
        if found is not None and found[1].get("key") != self.key:
            found = None
        step = None if found is None else found[1].get("next_step")
        # Nobody is past this line, and may write, before all have read.
        if not ranks().everywhere(ranks().agreed(step) == step):
            raise FileError(
                f"checkpoint {self.path}",
                "not the same file in every process of this job",
                "one folder that all machines see",
                "put --out on a file system that they share",
            )
        return found

    def remove(self) -> None:
        """Done: the result has been saved elsewhere."""
        if ranks().first:
            self.path.unlink(missing_ok=True)


def module_tensors(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module under a prefix."""
    return {f"{prefix}.{name}": value for name, value in module.state_dict().items()}


def load_module(path: Path, prefix: str, module: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put tensors back into a module; a missing or misshapen one is refused."""
    own = module.state_dict()
    module.load_state_dict(
        {name: take(path, tensors, f"{prefix}.{name}", value.shape) for name, value in own.items()}
    )


def optimizer_tensors(prefix: str, optimizer: Optimizer) -> dict[str, Tensor]:
    """An optimiser's state as flat tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"{prefix}.{index}.{name}": value
        for index, entry in state.items()
        for name, value in entry.items()
        if isinstance(value, Tensor)
    }


def load_optimizer(
    path: Path, prefix: str, optimizer: Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put the state of an Adam back; parameters that never had a gradient have none."""
    whole = optimizer.state_dict()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state = {}
    for index, parameter in enumerate(parameters):
        if f"{prefix}.{index}.step" not in tensors:
            continue
        shapes = {"step": torch.Size(), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape}
        state[index] = {
            name: take(path, tensors, f"{prefix}.{index}.{name}", shape)
            for name, shape in shapes.items()
        }
    whole["state"] = state
    optimizer.load_state_dict(whole)

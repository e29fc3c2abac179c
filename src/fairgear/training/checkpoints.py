"""Checkpoints: tensors in safetensors, the rest in its JSON header. Nothing is unpickled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from fairgear.distributed import all_true, broadcast, rank
from fairgear.errors import FileError
from fairgear.progress import log
from fairgear.tensor_files import read_tensors, take, write_tensors

# Seconds between two checkpoints: at least one, and so many that writing takes 5 % of the time.
_SECONDS_BETWEEN = 1.0
_TIMES_WRITING = 20.0
# How many there were, among the facts.
_THREADS = "threads"


class Checkpoint:
    """One file that a training run writes regularly and resumes from.

    The key identifies the run by its settings and data. A file with another key is ignored.

    Example:
        >>> from pathlib import Path
        >>> import torch
        >>> from fairgear.training import Checkpoint
        >>> checkpoint = Checkpoint(Path("state.safetensors"), key="settings and data")
        >>> checkpoint.write({"weight": torch.ones(3)}, {"next_step": 10})
        >>> tensors, facts = checkpoint.read()
        >>> facts["next_step"]
        10
        >>> Checkpoint(Path("state.safetensors"), key="other settings").read() is None
        True
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key
        self._written = time.monotonic()
        self._pause = _SECONDS_BETWEEN

    def due(self) -> bool:
        """Whether it is time to write again; rank 0 decides for all processes."""
        return broadcast(time.monotonic() - self._written > self._pause)

    def write(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Replace the file atomically, on rank 0."""
        if rank() > 0:
            return
        begin = time.monotonic()
        held = {"key": self.key, _THREADS: torch.get_num_threads(), **facts}
        write_tensors(self.path, tensors, held)
        self._written = time.monotonic()
        self._pause = max(_SECONDS_BETWEEN, _TIMES_WRITING * (self._written - begin))

    def read(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The last state, or None if this run has written none; the same in all processes."""
        found = read_tensors(self.path) if self.path.exists() else None
        if found is not None and found[1].get("key") != self.key:
            found = None
        if found is not None:
            self._say_threads(found[1].pop(_THREADS, None))
        step = None if found is None else found[1].get("next_step")
        # This also makes every process read before rank 0 may write again.
        if not all_true(broadcast(step) == step):
            raise FileError(
                f"checkpoint {self.path}",
                "not the same file in every process",
                "one folder that all machines see",
                "put --out on a shared file system",
            )
        return found

    def _say_threads(self, before: object) -> None:
        """Sums over other threads may round in another way."""
        now = torch.get_num_threads()
        if before not in (None, now):
            log(
                f"going on with {now} threads a run that had {before}: its figures may differ in "
                f"the last digits from those without a stop (OMP_NUM_THREADS={before} keeps them)"
            )

    def remove(self) -> None:
        """Delete the file, once the result is saved elsewhere."""
        if rank() == 0:
            self.path.unlink(missing_ok=True)


def module_tensors(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """The state of a module, each name with a prefix."""
    return {f"{prefix}.{name}": value for name, value in module.state_dict().items()}


def load_module(path: Path, prefix: str, module: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load tensors into a module; a missing one, or one of another shape, is refused."""
    own = module.state_dict()
    module.load_state_dict(
        {name: take(path, tensors, f"{prefix}.{name}", value.shape) for name, value in own.items()}
    )


def optimizer_tensors(prefix: str, optimizer: Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser, each name with a prefix."""
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
    """Load the state of an Adam; parameters that never had a gradient have none."""
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

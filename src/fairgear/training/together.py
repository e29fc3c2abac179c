"""Several seeds of one task trained at once: their weights lie in one stack, a step moves all."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.optim import Optimizer

from fairgear.progress import bar
from fairgear.training.loop import History, Run, Task, Validation
from fairgear.training.seeding import seeded


class WeightStack:
    """The weights of modules of one shape, side by side in a new first dimension.

    Args:
        modules: one a seed; the first's structure serves for all.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        self.parameters, self.buffers = stack_module_state(self.modules)
        # As the gradients of products come out; laid otherwise, each would be copied every step.
        self.parameters = {name: _transposed(p) for name, p in self.parameters.items()}
        self._shape = copy.deepcopy(self.modules[0])

    def evaluating(self) -> WeightStack:
        """The same weights in modules that do not train: no dropout, running statistics."""
        other = copy.copy(self)
        other._shape = copy.deepcopy(self._shape).eval()
        return other

    def each(self, work: Callable[..., Any], *inputs: Tensor) -> Any:
        """`work(module, *inputs)` for each module with its own slice of the inputs, at once."""

        def one(parameters: Any, buffers: Any, *own: Tensor) -> Any:
            shape = _Calling(self._shape, work)
            named = {f"module.{k}": v for k, v in (*parameters.items(), *buffers.items())}
            return functional_call(shape, named, own)

        return vmap(one, randomness="different")(self.parameters, self.buffers, *inputs)

    @torch.no_grad()
    def write_back(self) -> None:
        """Give every module its own weights again."""
        stacked = {**self.parameters, **self.buffers}
        for place, module in enumerate(self.modules):
            for name, value in module.state_dict().items():
                value.copy_(stacked[name][place])


def _transposed(stacked: Tensor) -> Tensor:
    """The same numbers, with those of a matrix's columns next to each other in memory."""
    if stacked.dim() != 3:
        return stacked
    laid = stacked.detach().transpose(1, 2).contiguous().transpose(1, 2)
    return laid.requires_grad_(stacked.requires_grad)


class _Calling(nn.Module):
    """A module in which to call a function of it."""

    def __init__(self, module: nn.Module, work: Callable[..., Any]) -> None:
        super().__init__()
        self.module = module
        self._work = work

    def forward(self, *inputs: Tensor) -> Any:
        return self._work(self.module, *inputs)


class Stack(ABC):
    """What is trained together: a task for each seed, and a step that moves all of them."""

    tasks: Sequence[Task]
    optimizers: dict[str, Optimizer]

    @abstractmethod
    def step(self, number: int) -> dict[str, Tensor]:
        """Update all; returns the named terms of the losses, (seeds,) each."""

    @abstractmethod
    def validate(self) -> list[Validation | None]:
        """How good each is now."""

    @abstractmethod
    def write_back(self) -> None:
        """Put the weights into the modules of the tasks."""


def train_together(
    stack: Stack,
    *,
    steps: int,
    seed: int,
    description: str,
    validate_every: int = 0,
    patience: int = 0,
) -> list[History]:
    """Run `steps` steps and leave each task's best validated state, else the last, in it.

    With a `patience`, each is judged until that many steps brought nothing better, and all end
    with the last of them.
    """
    runs = [Run(task, None) for task in stack.tasks]
    log_every = max(1, steps // 200)
    sums: dict[str, Tensor] = {}
    with bar(description, total=steps) as progress:
        for number in range(1, steps + 1):
            with seeded(seed, description, number - 1):
                terms = stack.step(number - 1)
            for name, value in terms.items():
                sums[name] = sums.get(name, torch.zeros_like(value)) + value
            if number % log_every == 0 or number == steps:
                count = (number - 1) % log_every + 1
                rows = {name: (total / count).tolist() for name, total in sums.items()}
                for place, run in enumerate(runs):
                    own = {name: values[place] for name, values in rows.items()}
                    run.history.training.append({"step": number, **own})
                sums = {}
            if validate_every and (number % validate_every == 0 or number == steps):
                with seeded(seed, description, "validation"):
                    _judge(stack, [run.given_up(patience) for run in runs], runs, number)
            progress.advance()
            if all(run.given_up(patience) for run in runs):
                break
    stack.write_back()
    for run in runs:
        run.restore_best()
    return [run.history for run in runs]


def _judge(stack: Stack, over: Sequence[bool], runs: Sequence[Run], number: int) -> None:
    with torch.no_grad():
        outcomes = stack.validate()
    written = False
    for run, ended, outcome in zip(runs, over, outcomes, strict=True):
        if ended:
            continue
        run.next_step = number
        if outcome is None:
            continue
        if not written and run.improves(outcome):
            stack.write_back()
            written = True
        run.keep(outcome)

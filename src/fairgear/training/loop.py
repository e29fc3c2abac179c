"""One loop for all methods: steps, validation, best state, checkpoints, a progress bar."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from fairgear.distributed import broadcast
from fairgear.progress import bar
from fairgear.tensor_files import damaged, take
from fairgear.training import checkpoints
from fairgear.training.checkpoints import Checkpoint
from fairgear.training.seeding import seeded


@dataclass(frozen=True)
class Validation:
    """The score of the current state on the validation set; the state with the highest is kept.

    Example:
        >>> from fairgear.training import Validation
        >>> Validation(score=0.81, figures={"auroc": 0.81, "delta_cf": 0.02}).score
        0.81
    """

    score: float
    figures: dict[str, float]


class Task(ABC):
    """What is trained: modules, optimisers, and one step.

    Example:
        >>> import torch
        >>> from fairgear.training import Task, train
        >>> class Line(Task):
        ...     def __init__(self):
        ...         line = torch.nn.Linear(1, 1)
        ...         self.modules = {"line": line}
        ...         self.optimizers = {"sgd": torch.optim.SGD(line.parameters(), lr=0.1)}
        ...     def step(self, number):
        ...         x = torch.rand(16, 1)
        ...         loss = (self.modules["line"](x) - 2 * x).square().mean()
        ...         self.optimizers["sgd"].zero_grad()
        ...         loss.backward()
        ...         self.optimizers["sgd"].step()
        ...         return {"loss": loss.detach()}
        >>> task = Line()
        >>> history = train(task, steps=400, seed=0, description="line")
        >>> round(task.modules["line"].weight.item(), 1)
        2.0
    """

    modules: dict[str, nn.Module]
    optimizers: dict[str, Optimizer]

    @abstractmethod
    def step(self, number: int) -> dict[str, Tensor]:
        """Update the modules once; returns the named terms of the loss, detached."""

    def validate(self) -> Validation | None:
        """Score the current state; None if the last state is the one to keep."""
        return None


@dataclass
class History:
    """Loss terms and validation figures over time, as lists of rows.

    Example:
        >>> from fairgear.training import History
        >>> history = History(training=[{"step": 10, "loss": 0.4}], best_step=10, best_score=0.8)
        >>> history.as_dict()["best_step"]
        10
    """

    training: list[dict[str, float]] = field(default_factory=list)
    validation: list[dict[str, float]] = field(default_factory=list)
    best_step: int = -1
    best_score: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return dict(vars(self))


def train(
    task: Task,
    *,
    steps: int,
    seed: int,
    description: str,
    validate_every: int = 0,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Run `steps` steps and leave the best validated state, else the last, in the modules.

    Every step draws its randomness from (seed, step), so an interrupted and resumed run ends with
    the same weights as an uninterrupted one. The checkpoint stays until the caller removes it.

    Example:
        >>> import torch
        >>> from fairgear.training import Task, train
        >>> class Mean(Task):
        ...     def __init__(self):
        ...         self.modules = {"mean": torch.nn.Linear(1, 1)}
        ...         self.optimizers = {"adam": torch.optim.Adam(self.modules["mean"].parameters())}
        ...     def step(self, number):
        ...         loss = (self.modules["mean"](torch.randn(8, 1)) - 3).square().mean()
        ...         self.optimizers["adam"].zero_grad()
        ...         loss.backward()
        ...         self.optimizers["adam"].step()
        ...         return {"loss": loss.detach()}
        >>> history = train(Mean(), steps=200, seed=0, description="mean")
        >>> history.training[-1]["step"]
        200
    """
    run = Run(task, checkpoint)
    log_every = max(1, steps // 200)
    sums: dict[str, Tensor] = {}
    with bar(description, total=steps, done=run.next_step) as progress:
        while run.next_step < steps:
            number = run.next_step
            with seeded(seed, description, number):
                terms = task.step(number)
            run.next_step += 1
            for name, value in terms.items():
                sums[name] = sums.get(name, torch.zeros_like(value)) + value
            shown: dict[str, float] = {}
            if run.next_step % log_every == 0 or run.next_step == steps:
                count = (run.next_step - 1) % log_every + 1
                shown = {name: float(total) / count for name, total in sums.items()}
                run.history.training.append({"step": run.next_step, **shown})
                sums = {}
            if validate_every and (run.next_step % validate_every == 0 or run.next_step == steps):
                with seeded(seed, description, "validation"):
                    run.validate()
            # Only when a row of the history is complete: the sums are not saved.
            if checkpoint and not sums and checkpoint.due():
                run.save()
            progress.advance(figures=shown)
    if checkpoint and run.next_step > run.saved_step:
        # If a later stage is interrupted, this one is not repeated.
        run.save()
    run.restore_best()
    return run.history


class Run:
    """The state of a loop: its step, history and best weights."""

    def __init__(self, task: Task, checkpoint: Checkpoint | None) -> None:
        self.task = task
        self.checkpoint = checkpoint
        self.next_step = 0
        self.saved_step = -1
        self.history = History()
        self.best: dict[str, Tensor] = {}
        saved = checkpoint.read() if checkpoint else None
        if checkpoint and saved:
            self._load(checkpoint, *saved)

    def validate(self) -> None:
        """Score the current state, and keep it if it is the best."""
        for module in self.task.modules.values():
            module.eval()
        with torch.no_grad():
            outcome = self.task.validate()
        for module in self.task.modules.values():
            module.train()
        if outcome is None:
            return
        # Machines round differently; rank 0 decides which state is the best.
        score, figures = broadcast((outcome.score, outcome.figures))
        self.history.validation.append({"step": self.next_step, "score": score, **figures})
        best = self.history.best_score
        # NaN is never an improvement, but gives way to any number if it was the first.
        if best is None or (not score <= best and not math.isnan(score)):
            self.history.best_score, self.history.best_step = score, self.next_step
            self.best = {k: v.clone() for k, v in self._weights().items()}

    def restore_best(self) -> None:
        """Load the best validated weights, if any, into the modules."""
        for name, module in self.task.modules.items():
            if self.best:
                own = module.state_dict()
                module.load_state_dict({key: self.best[f"{name}.{key}"] for key in own})
            module.eval()

    def save(self) -> None:
        """Write the checkpoint."""
        assert self.checkpoint is not None
        tensors = dict(self._weights())
        for name, optimizer in self.task.optimizers.items():
            tensors |= checkpoints.optimizer_tensors(f"optimizer.{name}", optimizer)
        tensors |= {f"best.{k}": v for k, v in self.best.items()}
        facts = {"next_step": self.next_step, "history": self.history.as_dict()}
        self.checkpoint.write(tensors, facts)
        self.saved_step = self.next_step

    def _weights(self) -> dict[str, Tensor]:
        weights: dict[str, Tensor] = {}
        for name, module in self.task.modules.items():
            weights |= checkpoints.module_tensors(name, module)
        return weights

    def _load(
        self, checkpoint: Checkpoint, tensors: dict[str, Tensor], facts: dict[str, Any]
    ) -> None:
        path = checkpoint.path
        for name, module in self.task.modules.items():
            checkpoints.load_module(path, name, module, tensors)
        for name, optimizer in self.task.optimizers.items():
            checkpoints.load_optimizer(path, f"optimizer.{name}", optimizer, tensors)
        try:
            self.next_step = self.saved_step = int(facts["next_step"])
            self.history = History(**facts["history"])
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(path) from error
        if self.history.best_step >= 0:
            self.best = {
                name: take(path, tensors, f"best.{name}", value.shape)
                for name, value in self._weights().items()
            }

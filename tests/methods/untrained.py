"""Fits of networks that end before the first step, for tests of the task."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from fairgear.training import History, Task

T = TypeVar("T", bound=Task)


def untrained(monkeypatch: pytest.MonkeyPatch, kind: type[T]) -> list[T]:
    """The tasks of the fits to come, which must be of this kind; none of them is trained."""
    tasks: list[T] = []

    def spy(task: Task, **arguments: Any) -> History:
        assert isinstance(task, kind)
        for module in task.modules.values():
            module.eval()
        tasks.append(task)
        return History()

    monkeypatch.setattr("fairgear.methods.baselines.whole_graph.train", spy)
    return tasks

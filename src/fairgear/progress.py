"""Bars and log lines. Both go to stderr, so that stdout stays free for results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

_console = Console(stderr=True, highlight=False)
_state = {"quiet": False}


class Bar:
    """One running bar; `advance` moves it and may show named figures beside it."""

    def __init__(self, progress: Progress, task: Any) -> None:
        self._progress = progress
        self._task = task

    def advance(self, steps: int = 1, figures: Mapping[str, float] | None = None) -> None:
        """Move on by `steps`; `figures` such as {"loss": 0.3} are shown at the end of the line."""
        self._progress.update(self._task, advance=steps)
        if figures:
            shown = "  ".join(f"{key} {value:.4g}" for key, value in figures.items())
            self._progress.update(self._task, figures=shown)


@contextmanager
def bar(description: str, total: int, *, done: int = 0) -> Iterator[Bar]:
    """A progress bar for work that may take over two seconds; gone when the work is done."""
    with _display(TimeRemainingColumn()) as progress:
        yield Bar(progress, progress.add_task(description, total=total, completed=done, figures=""))


class Board:
    """Several bars, one below the other, and a line of text; each is moved by its name."""

    def __init__(self, progress: Progress, parts: Mapping[str, tuple[int, int]]) -> None:
        self._progress = progress
        self._tasks = {
            name: progress.add_task(name, total=total, completed=done, figures="")
            for name, (done, total) in parts.items()
        }

    def show(self, name: str, done: int, text: str = "") -> None:
        """Put the bar of that name where it belongs, with a text behind it."""
        self._progress.update(self._tasks[name], completed=done, figures=text)


@contextmanager
def board(parts: Mapping[str, tuple[int, int]]) -> Iterator[Board]:
    """A bar for each part of a plan: its name, how many are done, and of how many."""
    with _display() as progress:
        yield Board(progress, parts)


def _display(*columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        TextColumn("{task.fields[figures]}"),
        console=_console,
        transient=True,
        disable=_state["quiet"] or not _console.is_terminal,
    )


def log(message: str) -> None:
    """One line for the person who watches."""
    if not _state["quiet"]:
        _console.print(message, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and no log lines inside this block."""
    before = _state["quiet"]
    _state["quiet"] = True
    try:
        yield
    finally:
        _state["quiet"] = before

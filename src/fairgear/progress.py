"""Bars and log lines. Both go to stderr, so that stdout stays free for results.

Without a terminal, as in a log file or a cluster job, a bar is one line a minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from fairgear.text import on_one_line

# Seconds between two lines where there is no terminal.
LINE_EVERY = 60.0

_console = Console(stderr=True, highlight=False)
_state = {"quiet": False}


class Bar:
    """One running bar; `advance` moves it and may show named figures beside it."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._lines = _Lines(progress, task)

    def advance(self, steps: int = 1, figures: Mapping[str, float] | None = None) -> None:
        """Move on by `steps`; `figures` such as {"loss": 0.3} are shown at the end of the line."""
        self._progress.update(self._task, advance=steps)
        if figures:
            shown = "  ".join(f"{key} {value:.4g}" for key, value in figures.items())
            self._progress.update(self._task, figures=shown)
        self._lines.show()


@contextmanager
def bar(description: str, total: int, *, done: int = 0) -> Iterator[Bar]:
    """A progress bar for work that may take over two seconds; it disappears at the end."""
    with _display(TimeRemainingColumn(table_column=Column(no_wrap=True))) as progress:
        said = on_one_line(description)
        yield Bar(progress, progress.add_task(said, total=total, completed=done, figures=""))


class Board:
    """Several bars, one below the other, each moved by its name."""

    def __init__(self, progress: Progress, parts: Mapping[str, tuple[int, int]]) -> None:
        self._progress = progress
        self._tasks = {
            name: progress.add_task(on_one_line(name), total=total, completed=done, figures="")
            for name, (done, total) in parts.items()
        }

    def show(self, name: str, done: int, text: str = "") -> None:
        """Move the bar of that name to `done`, with a text behind it."""
        self._progress.update(self._tasks[name], completed=done, figures=on_one_line(text))


@contextmanager
def board(parts: Mapping[str, tuple[int, int]]) -> Iterator[Board]:
    """A bar for each part of a study: its name, how many are done, and of how many."""
    with _display() as progress:
        yield Board(progress, parts)


def log(message: str) -> None:
    """Print one line to stderr."""
    if not _state["quiet"]:
        _console.print(on_one_line(message), markup=False, emoji=False, soft_wrap=True)


def show_cursor() -> None:
    """A bar hides it, and cannot give it back if its process is ended at once."""
    _console.show_cursor(True)


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bars and no log lines inside this block."""
    before = _state["quiet"]
    _state["quiet"] = True
    try:
        yield
    finally:
        _state["quiet"] = before


class _Lines:
    """The lines that stand for a bar where there is no terminal."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._begun = self._shown = time.monotonic()
        self._done_before = progress.tasks[task].completed
        self._active = not (_state["quiet"] or _console.is_terminal)

    def show(self) -> None:
        now = time.monotonic()
        if not self._active or now - self._shown < LINE_EVERY:
            return
        self._shown = now
        task = self._progress.tasks[self._task]
        total, done = task.total or 0, task.completed
        pace = (now - self._begun) / max(done - self._done_before, 1)
        left = f"about {(total - done) * pace / 60:.0f} min left"
        figures = task.fields["figures"]
        log("  ".join(filter(None, [f"{task.description}: {done:g} of {total:g}", left, figures])))


def _display(*columns: ProgressColumn) -> Progress:
    # Bar, count and time left keep their room; texts share the rest and are cut where it is short.
    def text(field: str, ratio: int) -> TextColumn:
        column = Column(ratio=ratio, no_wrap=True, overflow="ellipsis")
        return TextColumn(field, markup=False, table_column=column)

    return Progress(
        text("{task.description}", 3),
        BarColumn(bar_width=16, table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        *columns,
        text("{task.fields[figures]}", 2),
        console=_console,
        transient=True,
        expand=True,
        disable=_state["quiet"] or not _console.is_terminal,
    )

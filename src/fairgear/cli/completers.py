"""What the shell offers at Tab for one argument. Loads no torch: the user is waiting."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from fairgear.errors import FairgearError

# Takes a `cyclopts.CompletionContext`: the word at the cursor, and the arguments before it.
Completer = Callable[[Any], list[str]]


def datasets(context: Any) -> list[str]:
    """The names of datasets, and files."""
    from fairgear.datasets.names import NAMES

    return [*NAMES, *files(context)]


def dataset_names(context: Any) -> list[str]:
    """The names of datasets."""
    from fairgear.datasets.names import NAMES

    return list(NAMES)


def methods(context: Any) -> list[str]:
    """The names of methods, those of other packages too."""
    from fairgear.methods.names import GROUP, NAMES

    return [*NAMES, *(found.name for found in entry_points(group=GROUP))]


def link_methods(context: Any) -> list[str]:
    """The names of methods for links, and files."""
    from fairgear.runs.link_config import NAMES

    return [*NAMES, *files(context)]


def files(context: Any) -> list[str]:
    """The files and folders that begin as the word at the cursor does."""
    typed = str(context.incomplete)
    folder, _, begin = typed.rpartition("/")
    inside = f"{folder}/" if "/" in typed else ""
    try:
        entries = sorted(os.scandir(os.path.expanduser(inside) or "."), key=lambda one: one.name)
    except OSError:
        return []
    seen = [one for one in entries if one.name.startswith(begin)]
    hidden = begin.startswith(".")
    return [
        f"{inside}{one.name}{'/' if one.is_dir() else ''}"
        for one in seen
        if hidden or not one.name.startswith(".")
    ]


def columns(context: Any) -> list[str]:
    """The columns of the table that stands before the cursor."""
    from fairgear.datasets.source import GraphSource

    for name in ("dataset", "file"):
        typed = context.get(name)
        if typed is not None and typed.raw:
            try:
                return GraphSource(os.path.expanduser(typed.raw)).column_names() or []
            except FairgearError:
                return []
    return []


def one_of(*names: str) -> Completer:
    """Fixed words."""
    return lambda context: list(names)

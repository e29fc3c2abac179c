"""What a fit leaves on disk beside the model, and how it knows its own again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Method
from fairgear.tensor_files import damaged
from fairgear.training import Checkpoint
from fairgear.version import installed_version

# Where among the checkpoints the egos of a large graph are. They stay: who has fitted a model asks
# about the same graph again, in other processes too.
EGOS = "egos"


class FitCheckpoints:
    """The checkpoints of the stages of one fit; all stay until the fit is done.

    Args:
        folder: where they go; None for no checkpoints.
        key: what the fit is, see `run_key`.
    """

    def __init__(self, folder: Path | None, key: str) -> None:
        self._folder = folder
        self._key = key
        self._made: list[Checkpoint] = []

    def checkpoint(self, name: str) -> Checkpoint | None:
        """That of one stage."""
        if self._folder is None:
            return None
        made = Checkpoint(Path(self._folder) / f"{name}.safetensors", self._key)
        self._made.append(made)
        return made

    def remove(self) -> None:
        """Done: none is needed any more."""
        for made in self._made:
            made.remove()


def run_key(method: Method, graph: SensitiveGraph, *more: str | None) -> str:
    """What decides how a fit goes: method, settings, seed, graph, and `more`."""
    what = [installed_version(), method.name, method.config.to_dict(), method.seed]
    text = json.dumps([*what, graph.fingerprint(), graph.sens_column, *more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def columns_of(path: Path, facts: dict[str, Any]) -> tuple[int, int | None]:
    """The number of columns that a saved model was fitted on, and which of them is sensitive."""
    width, column = facts.get("features"), facts.get("sens_column")
    if not isinstance(width, int) or width < 1:
        raise damaged(path)
    if column is not None and not (isinstance(column, int) and 0 <= column < width):
        raise damaged(path)
    return width, column

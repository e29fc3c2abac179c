"""The checkpoints of a fit, and what it is known by."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from fairgear.graph import SensitiveGraph
from fairgear.methods.configured import Configured
from fairgear.training import Checkpoint
from fairgear.version import installed_version


class FitCheckpoints:
    """The checkpoints of the stages of one fit, if it has a folder; all stay until it is done.

    `key` identifies the fit, see `run_key`.
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
        """Delete all of them."""
        for made in self._made:
            made.remove()


def run_key(method: Configured, graph: SensitiveGraph, *more: str | None) -> str:
    """A hash of what determines a fit: method, settings, seed, graph, and `more`."""
    what = [installed_version(), method.name, method.config.to_dict(), method.seed]
    text = json.dumps([*what, graph.fingerprint(), graph.sens_column, *more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

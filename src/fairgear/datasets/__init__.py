"""The datasets, by name. A `GraphSource` can be described without importing torch."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from fairgear.datasets.source import FileOptions, GraphSource

if TYPE_CHECKING:
    from fairgear.datasets.base import DATASETS, Dataset, load
    from fairgear.datasets.counts import GraphStatistics, statistics
    from fairgear.datasets.download import RemoteFile, fetch

__all__ = [
    "DATASETS",
    "Dataset",
    "FileOptions",
    "GraphSource",
    "GraphStatistics",
    "RemoteFile",
    "fetch",
    "load",
    "statistics",
]

# Their modules, in the order in which they are listed.
_MODULES = ("synthetic", "bail", "credit", "german", "nba", "meps", "diabetes")
_HOMES = {
    "base": ("DATASETS", "Dataset", "load"),
    "download": ("RemoteFile", "fetch"),
    "counts": ("GraphStatistics", "statistics"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            _register()
            return getattr(importlib.import_module(f"fairgear.datasets.{home}"), name)
    raise AttributeError(f"module 'fairgear.datasets' has no attribute {name!r}")


@cache
def _register() -> None:
    from fairgear.datasets.base import DATASETS, Dataset

    for name in _MODULES:
        for value in vars(importlib.import_module(f"fairgear.datasets.{name}")).values():
            if isinstance(value, Dataset):
                DATASETS.add(value.name, value)

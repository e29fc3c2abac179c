"""fairgear: graph models that treat people alike, and the audit that shows it.

Nothing heavy is imported until it is used: `fairgear --help` must answer at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairgear import causal, datasets, egos, graph, metrics
    from fairgear.graph import SensitiveGraph


_MODULES = ("causal", "datasets", "egos", "graph", "metrics")
_OBJECTS = {"SensitiveGraph": "fairgear.graph"}

__all__ = ["SensitiveGraph", "__version__", "causal", "datasets", "egos", "graph", "metrics"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from fairgear.version import installed_version

        return installed_version()
    if name in _MODULES:
        return importlib.import_module(f"fairgear.{name}")
    if name in _OBJECTS:
        return getattr(importlib.import_module(_OBJECTS[name]), name)
    raise AttributeError(f"module 'fairgear' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""fairgear: graph models that treat people alike, and the audit that shows it.

Nothing heavy is imported until it is used: `fairgear --help` must answer at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairgear import auditing, causal, datasets, egos, graph, methods, metrics, tracking
    from fairgear.auditing import Audit, audit
    from fairgear.graph import SensitiveGraph
    from fairgear.methods import Gear, GearPaper, load_model

    __version__: str

_MODULES = ("auditing", "causal", "datasets", "egos", "graph", "methods", "metrics", "tracking")
_OBJECTS = {
    "Audit": "fairgear.auditing",
    "Gear": "fairgear.methods",
    "GearPaper": "fairgear.methods",
    "SensitiveGraph": "fairgear.graph",
    "audit": "fairgear.auditing",
    "load_model": "fairgear.methods",
}

__all__ = [
    "Audit",
    "Gear",
    "GearPaper",
    "SensitiveGraph",
    "__version__",
    "audit",
    "auditing",
    "causal",
    "datasets",
    "egos",
    "graph",
    "load_model",
    "methods",
    "metrics",
    "tracking",
]


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

"""One run or audit from the command line: its settings, its folder, its execution.

Only what is used is imported: `fairgear --help` reads settings without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairgear.runs.audit_config import AuditConfig
    from fairgear.runs.config import RunConfig
    from fairgear.runs.execution import WorldsCache, run
    from fairgear.runs.folder import AuditFolder, RunFolder

_OBJECTS = {
    "AuditConfig": "audit_config",
    "AuditFolder": "folder",
    "RunConfig": "config",
    "RunFolder": "folder",
    "WorldsCache": "execution",
    "run": "execution",
}

__all__ = ["AuditConfig", "AuditFolder", "RunConfig", "RunFolder", "WorldsCache", "run"]


def __getattr__(name: str) -> Any:
    if name in _OBJECTS:
        return getattr(importlib.import_module(f"fairgear.runs.{_OBJECTS[name]}"), name)
    raise AttributeError(f"module 'fairgear.runs' has no attribute {name!r}")

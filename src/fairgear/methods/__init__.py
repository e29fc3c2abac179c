"""The methods, by name. Settings can be read without importing torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairgear.methods.gear.config import GearConfig
from fairgear.methods.gear_paper.config import GearPaperConfig

if TYPE_CHECKING:
    from fairgear.methods.base import METHODS, Method
    from fairgear.methods.gear.estimator import Gear
    from fairgear.methods.gear_paper.estimator import GearPaper
    from fairgear.methods.loading import load_model

__all__ = [
    "METHODS",
    "Gear",
    "GearConfig",
    "GearPaper",
    "GearPaperConfig",
    "Method",
    "load_model",
]

# Importing these registers their methods.
_REGISTERING = (
    "gear.estimator",
    "gear_paper.estimator",
    "baselines.gnn",
    "baselines.cenc",
    "baselines.fairgnn",
    "baselines.nifty",
    "baselines.tabular",
)
_HOMES = {
    "METHODS": "base",
    "Method": "base",
    "load_model": "loading",
    "Gear": "gear.estimator",
    "GearPaper": "gear_paper.estimator",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        for module in _REGISTERING:
            importlib.import_module(f"fairgear.methods.{module}")
        return getattr(importlib.import_module(f"fairgear.methods.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fairgear.methods' has no attribute {name!r}")

"""GearPaper small enough to train in a second."""

from __future__ import annotations

from typing import Any

from fairgear.methods import GearPaper

GENERATOR: dict[str, Any] = {"steps": 20, "hidden": 16, "latent": 4}


def tiny(**settings: Any) -> GearPaper:
    """A GearPaper of 16 dimensions and 20 steps."""
    small: dict[str, Any] = {"dim": 16, "steps": 20, "k": 8, "learning_rate": 0.01}
    return GearPaper(**(small | {"generator": GENERATOR, "device": "cpu"} | settings))

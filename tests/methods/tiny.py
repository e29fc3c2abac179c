"""Gear small enough to train in a second."""

from __future__ import annotations

from typing import Any

from fairgear.methods import Gear, GeneratorConfig

# A discriminator that counts: without weight its randomness could not be seen.
GENERATOR = GeneratorConfig(steps=20, hidden=16, latent=4, discriminator_weight=5.0)


def tiny(**settings: Any) -> Gear:
    """A Gear of 16 dimensions and 20 steps."""
    small: dict[str, Any] = {
        "dim": 16,
        "steps": 20,
        "validate_every": 10,
        "k": 8,
        "generator": GENERATOR,
        "device": "cpu",
    }
    return Gear(**(small | settings))

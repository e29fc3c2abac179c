"""Gear small enough to train in a second."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods import Gear, GearConfig, GeneratorConfig
from fairgear.methods.gear.config import Recipe

# A discriminator with a weight: without, its randomness could not be seen.
GENERATOR = GeneratorConfig(steps=20, hidden=16, latent=4, discriminator_weight=5.0)
CONSTANTS = {item.name for item in fields(Recipe)} - {item.name for item in fields(GearConfig)}


def tiny(**settings: Any) -> Gear:
    """A Gear of 16 dimensions and 20 steps; constants of recipes are overridden by name."""
    small: dict[str, Any] = {"dim": 16, "steps": 20, "k": 8, "validate_every": 10}
    given = small | {"generator": GENERATOR, "device": "cpu"} | settings
    recipe = {name: given.pop(name) for name in sorted(CONSTANTS & set(given))}
    return Gear(**(given | {"recipe": recipe | given.get("recipe", {})}))


def telling(graph: SensitiveGraph) -> SensitiveGraph:
    """The same people, with features and labels that depend on s around them: R² is high."""
    near = closed_neighborhood_mean(graph.sens, graph.edge_index)
    x = graph.x.clone()
    x[:, int(graph.sens_column == 0)] = near
    return graph.replace(x=x, y=(near + 0.1 * x[:, 2] > near.median()).long())

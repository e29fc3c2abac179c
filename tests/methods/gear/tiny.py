"""Gear small enough to train in a second."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods import Gear, GearConfig, GeneratorConfig
from fairgear.methods.gear.config import Recipe

# A discriminator with a weight: without, its randomness could not be seen.
GENERATOR = GeneratorConfig(steps=20, hidden=16, latent=4, discriminator_weight=5.0)
# One recipe, with everything that either of the two has.
ONE: dict[str, Any] = {
    "layers": 2,
    "dropout": 0.3,
    "weight_decay": 1e-4,
    "row_norm": True,
    "direction": "generator",
    "consistency": "boundary",
    "ranks": True,
    "averaging": 0.9,
    "validate_every": 10,
}


def tiny(**settings: Any) -> Gear:
    """A Gear of 16 dimensions, 20 steps and one recipe, whose constants can be given by name."""
    small: dict[str, Any] = {"dim": 16, "steps": 20, "k": 8, "logit_weight": 1.0}
    small |= {"learning_rate": 0.01, "batch_size": 100, "threshold": "half"}
    given = small | {"generator": GENERATOR, "device": "cpu"} | settings
    names = {item.name for item in fields(Recipe)} - {item.name for item in fields(GearConfig)}
    own = {name: given.pop(name) for name in sorted(names & set(given))}
    return Gear(**(given | {"recipe": ONE | own | given.get("recipe", {})}))


def two_recipes(**settings: Any) -> Gear:
    """The same with both recipes."""
    small: dict[str, Any] = {"dim": 16, "steps": 20, "k": 8, "recipe": {"validate_every": 10}}
    return Gear(**(small | {"generator": GENERATOR, "device": "cpu"} | settings))


def telling(graph: SensitiveGraph) -> SensitiveGraph:
    """The same people, with features and labels that depend on s around them: R² is high."""
    near = closed_neighborhood_mean(graph.sens, graph.edge_index)
    x = graph.x.clone()
    x[:, int(graph.sens_column == 0)] = near
    return graph.replace(x=x, y=(near + 0.1 * x[:, 2] > near.median()).long())

"""GEAR: representations that are alike on a person's factual and counterfactual egos."""

from fairgear.methods.gear.config import GearConfig, GeneratorConfig

__all__ = ["GearConfig", "GeneratorConfig"]

"""Audits: what a model does to people, on the graph as it is and as it would have been."""

from fairgear.auditing.evaluation import Evaluation, evaluate, evaluate_in
from fairgear.auditing.generator_error import GeneratorError, generator_error
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.model import Model
from fairgear.auditing.response import FlipRow
from fairgear.auditing.worlds import World, Worlds

__all__ = [
    "Evaluation",
    "FlipRow",
    "GeneratorError",
    "GroupSummary",
    "Model",
    "World",
    "Worlds",
    "evaluate",
    "evaluate_in",
    "generator_error",
]

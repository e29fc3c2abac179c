"""Audits: what a model does to people, on the graph as it is and as it would have been."""

from fairgear.auditing.adapters import (
    Adapter,
    CommandAdapter,
    FolderAdapter,
    ModuleAdapter,
    ScoresAdapter,
    adapt,
)
from fairgear.auditing.any_model import audit
from fairgear.auditing.comparison import Comparison, compare_people
from fairgear.auditing.conditions import Condition
from fairgear.auditing.effects import FlipRow
from fairgear.auditing.exchange import export_worlds
from fairgear.auditing.generator_error import GeneratorError, generator_error
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.people import person_ids
from fairgear.auditing.probes import Probes
from fairgear.auditing.result import Audit, Training
from fairgear.auditing.sensitivity import Sensitivity
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds

__all__ = [
    "Adapter",
    "Audit",
    "CommandAdapter",
    "Comparison",
    "Condition",
    "FlipRow",
    "FolderAdapter",
    "GeneratorError",
    "GroupSummary",
    "ModuleAdapter",
    "Probes",
    "ScoresAdapter",
    "Sensitivity",
    "Training",
    "World",
    "Worlds",
    "adapt",
    "audit",
    "compare_people",
    "export_worlds",
    "generator_error",
    "person_ids",
]

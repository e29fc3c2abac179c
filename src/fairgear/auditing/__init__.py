"""Audits: what a model does to people, on the graph as it is and as it would have been."""

from fairgear.auditing.adapters import (
    Adapter,
    CommandAdapter,
    FolderAdapter,
    ModuleAdapter,
    adapt,
)
from fairgear.auditing.any_model import audit, audit_in
from fairgear.auditing.audit_folder import AuditFolder
from fairgear.auditing.comparison import Comparison, compare_people
from fairgear.auditing.conditions import Condition
from fairgear.auditing.evaluation import Evaluation, evaluate, evaluate_in
from fairgear.auditing.exchange import export_worlds
from fairgear.auditing.generator_error import GeneratorError, generator_error
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.people import who
from fairgear.auditing.response import FlipRow
from fairgear.auditing.result import Audit
from fairgear.auditing.sensitivity import Sensitivity
from fairgear.auditing.sight import Sight
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds

__all__ = [
    "Adapter",
    "Audit",
    "AuditFolder",
    "CommandAdapter",
    "Comparison",
    "Condition",
    "Evaluation",
    "FlipRow",
    "FolderAdapter",
    "GeneratorError",
    "GroupSummary",
    "ModuleAdapter",
    "Sensitivity",
    "Sight",
    "World",
    "Worlds",
    "adapt",
    "audit",
    "audit_in",
    "compare_people",
    "evaluate",
    "evaluate_in",
    "export_worlds",
    "generator_error",
    "who",
]

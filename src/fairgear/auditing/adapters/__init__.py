"""Adapters: every kind of model behind one interface."""

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.command import CommandAdapter
from fairgear.auditing.adapters.dispatch import adapt
from fairgear.auditing.adapters.folder import FolderAdapter
from fairgear.auditing.adapters.graph_models import CallableAdapter, EstimatorAdapter
from fairgear.auditing.adapters.module import ModuleAdapter
from fairgear.auditing.adapters.scores import ScoresAdapter
from fairgear.auditing.adapters.table import TableAdapter

__all__ = [
    "Adapter",
    "CallableAdapter",
    "CommandAdapter",
    "EstimatorAdapter",
    "FolderAdapter",
    "ModuleAdapter",
    "ScoresAdapter",
    "TableAdapter",
    "adapt",
]

"""The kinds of trials, by what is done to the program."""

from __future__ import annotations

from tests.torture.kinds import (
    cheating,
    code,
    commands,
    damage,
    disks,
    documents,
    downloads,
    environment,
    faults,
    graphs,
    kills,
    large,
    permissions,
    privacy,
    read_only,
    settings,
    steering,
    stored,
    tables,
    tensors,
    together,
)
from tests.torture.trial import Kind

# The module, how many trials a full call makes at most, and what a table calls it.
_ALL: dict[str, tuple[Kind, int, str]] = {
    "kills": (kills.trials, 100, "killed, terminated or interrupted at any moment"),
    "together": (together.trials, 22, "two commands in one folder"),
    "disks": (disks.trials, 50, "a full disk for results, cache or temporary files"),
    "faults": (faults.failing, 80, "any call that the system refuses"),
    "memory": (faults.without_memory, 60, "no memory at any call"),
    "read only": (read_only.trials, 24, "read-only roots and homes"),
    "code": (code.trials, 30, "damaged and planted compiled code"),
    "damage": (damage.trials, 90, "a flipped bit in what was written earlier"),
    "documents": (documents.trials, 120, "JSON and YAML of wrong types"),
    "settings": (settings.trials, 120, "settings and bombs in YAML"),
    "tensors": (tensors.trials, 40, "`.pt` files"),
    "tables": (tables.trials, 110, "tables, Parquet, edges, diagrams; pipes and devices"),
    "stored": (stored.trials, 50, "stored graphs"),
    "environment": (environment.trials, 60, "variables of the environment"),
    "downloads": (downloads.trials, 24, "servers"),
    "commands": (commands.trials, 30, "audited commands"),
    "cheating": (cheating.trials, 40, "the audited party"),
    "steering": (steering.trials, 60, "text for terminal, page and spreadsheet"),
    "permissions": (permissions.trials, 40, "files and folders that one may not use"),
    "privacy": (privacy.trials, 16, "what stays of people"),
    "graphs": (graphs.trials, 130, "degenerate graphs"),
    "large": (large.trials, 8, "large inputs, and numbers of threads"),
}
KINDS = {name: (most, trials) for name, (trials, most, _) in _ALL.items()}
WORDS = {name: words for name, (_, _, words) in _ALL.items()}

"""The API reference: one page for each package that has an `__all__`, with every name in it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import fairgear
from fairgear.registry import Registry
from fairgear.settings import Config

# Files that stand for themselves.
_FILES = ("fairgear.pyg", "fairgear.tracking")


def packages() -> list[ModuleType]:
    """fairgear, and each package or file of its own below it that says what others may use."""
    found = pkgutil.walk_packages(fairgear.__path__, "fairgear.")
    names = ["fairgear", *(one.name for one in found if one.ispkg or one.name in _FILES)]
    modules = [importlib.import_module(name) for name in names]
    return [module for module in modules if hasattr(module, "__all__")]


def homes() -> dict[int, str]:
    """Where each object is described: in the package with the shortest name that exports it.

    Only fairgear itself comes last. It repeats names of its packages.
    """
    found: dict[int, str] = {}
    for module in sorted(packages(), key=_rank):
        for name in module.__all__:
            found.setdefault(id(getattr(module, name)), module.__name__)
    return found


# What public functions return, with the settings and errors that all share.
TYPES = [
    "fairgear.errors.FairgearError",
    "fairgear.errors.ParameterError",
    "fairgear.settings.Config",
    "fairgear.evidence.FileHash",
    "fairgear.graph.similarity.SimilarityEdges",
    "fairgear.graph.unknown.Guessing",
    "fairgear.metrics.disagreement.Disagreement",
    "fairgear.metrics.gap_bounds.GapBounds",
    "fairgear.metrics.ratios.RateTest",
    "fairgear.causal.diagnostics.Shape",
    "fairgear.causal.edges.regression.EdgeQuality",
    "fairgear.causal.edges.terms.Coefficients",
    "fairgear.causal.edges.terms.EdgeTerms",
    "fairgear.methods.gear_paper.config.VaeConfig",
    "fairgear.auditing.affected.Affected",
    "fairgear.auditing.affected.Neighbor",
    "fairgear.auditing.affected.PersonInWorld",
    "fairgear.auditing.changes.Changes",
    "fairgear.auditing.changes.Both",
    "fairgear.auditing.changes.ComparedPerson",
    "fairgear.auditing.changes.GroupChanges",
    "fairgear.auditing.changes.ScorePoint",
    "fairgear.auditing.comparison.ComparisonRow",
    "fairgear.auditing.exchange.manifest.Manifest",
    "fairgear.auditing.exchange.manifest.WorldEntry",
    "fairgear.auditing.family.Family",
    "fairgear.auditing.names.Names",
    "fairgear.auditing.provenance.Provenance",
    "fairgear.auditing.provenance.Stage",
    "fairgear.auditing.references.Reference",
    "fairgear.auditing.result.ModelInfo",
    "fairgear.auditing.result.Setup",
    "fairgear.auditing.sensitivity.Bound",
    "fairgear.auditing.sensitivity.CausalModelRow",
    "fairgear.auditing.sensitivity.Dose",
    "fairgear.auditing.sensitivity.DosePoint",
    "fairgear.auditing.unknown.Part",
    "fairgear.auditing.unknown.UnknownPeople",
    "fairgear.links.adapters.AuditedLinks",
    "fairgear.links.result.LinkSetup",
    "fairgear.links.result.LinkFlips",
    "fairgear.links.result.Cell",
    "fairgear.links.result.Lists",
    "fairgear.links.result.ListChange",
    "fairgear.links.result.Exposure",
    "fairgear.links.result.PersonLists",
    "fairgear.links.result.WorldList",
    "fairgear.links.result.Listed",
    "fairgear.links.result.LinkReference",
]


def write(folder: Path) -> None:
    """One page for each package."""
    folder.mkdir(parents=True, exist_ok=True)
    known, modules = homes(), packages()
    for module in modules:
        _update(folder / f"{module.__name__}.rst", page(module, known))
    _update(folder / "types.rst", types())
    _update(folder / "index.rst", index([module.__name__ for module in modules]))
    for path in folder.glob("*.rst"):
        if path.stem not in {"types", "index", *(module.__name__ for module in modules)}:
            path.unlink()


def page(module: ModuleType, known: dict[int, str]) -> str:
    """The names of a package, with those that are described elsewhere as links."""
    name = module.__name__
    parts = [name, "=" * len(name), "", f".. py:module:: {name}", "", inspect.getdoc(module) or ""]
    links, entries = [], []
    for public in module.__all__:
        thing = getattr(module, public)
        if inspect.ismodule(thing):
            links.append(f"- :doc:`{thing.__name__}`")
        elif known.get(id(thing), name) == name:
            entries += ["", *_entry(name, public, thing)]
        else:
            links.append(f"- :py:obj:`{public} <{known[id(thing)]}.{public}>`")
    if links:
        parts += ["", "Described elsewhere:", "", *links]
    return "\n".join([*parts, *entries, ""])


def index(names: list[str]) -> str:
    """The table of contents of these pages."""
    about = "Every public name of every package, from its docstring. What is not here may change."
    lines = ["Python", "======", "", about, "", ".. toctree::", "   :maxdepth: 1", ""]
    return "\n".join([*lines, *(f"   {name}" for name in [*names, "types"]), ""])


def types() -> str:
    """What is met as the result or the base of something public, and is imported from nowhere."""
    title = "Types that others return"
    parts = [title, "=" * len(title), "", "Parts of an audit, settings and errors."]
    for path in TYPES:
        module, _, name = path.rpartition(".")
        parts += ["", *_entry(module, name, getattr(importlib.import_module(module), name))]
    return "\n".join([*parts, ""])


def _rank(module: ModuleType) -> tuple[bool, int, str]:
    name = module.__name__
    return name == "fairgear", name.count("."), name


def _entry(module: str, name: str, thing: Any) -> list[str]:
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        members = _members(thing)
        options = [f"   :members: {', '.join(members)}"] if members else []
        return [f".. {kind}:: {module}.{name}", *options]
    if callable(thing) and inspect.isroutine(inspect.unwrap(thing)):
        return [f".. autofunction:: {module}.{name}"]
    return [f".. py:data:: {name}", f"   :module: {module}", "", f"   {_value(thing)}"]


def _value(thing: Any) -> str:
    """What a constant holds: names, where things are kept by name."""
    if isinstance(thing, Registry | Mapping):
        return f"By name: {', '.join(f'``{name}``' for name in thing)}."
    if isinstance(thing, tuple | frozenset):
        return f"{', '.join(f'``{one}``' for one in thing)}."
    return f"``{thing}``"


def _members(kind: type[Any]) -> list[str]:
    """Methods and properties with a docstring, of the class and of its bases in fairgear.

    Fields are in the docstring of their class, but for settings, each of which has its own.
    """
    found: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("fairgear"):
            continue
        for name, value in vars(base).items():
            if isinstance(value, classmethod | staticmethod):
                value = value.__func__
            told = inspect.isfunction(value) or isinstance(value, property | cached_property)
            if told and not name.startswith("_") and value.__doc__:
                found[name] = None
    if is_dataclass(kind) and issubclass(kind, Config):
        found |= {field.name: None for field in fields(kind)}
    return list(found)


def _update(path: Path, text: str) -> None:
    """A page that stays as it is need not be read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

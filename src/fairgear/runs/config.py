"""The settings of a run. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from fairgear.datasets.source import GraphSource
from fairgear.documents import read_yaml as read_document
from fairgear.errors import ParameterError
from fairgear.settings import OneOf, Range

# The default method.
GEAR = "gear"
# What --quick limits in the settings of every method, by name.
_QUICK = {"steps": 40, "estimator_steps": 40, "trees": 50}
# How --quick shortens the audit.
_QUICK_AUDIT: dict[str, Any] = {
    "self_people": 50,
    "affected_people": 3,
    "what_if_people": 10,
    "other_causal_models": False,
}


@dataclass(frozen=True)
class RunConfig(GraphSource):
    """Everything that decides the results of `fairgear run`: the graph, the method, the seed."""

    method: str = GEAR
    """The method to train."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings of the method; those that are missing have their defaults."""
    quick: bool = False
    """Whether a few steps and a smaller audit are enough."""
    self_people: Annotated[int, Range(0, 10**9)] = 500
    """Most people whose own attribute alone is flipped, in one world each."""
    affected_people: Annotated[int, Range(0, 10**9)] = 10
    """Most affected people who are examined neighbour by neighbour."""
    what_if_people: Annotated[int, Range(0, 10**9)] = 60
    """Most people who are shown one by one in other worlds."""
    other_causal_models: bool = True
    """Whether to measure δCF under a family of causal models, and by dose."""
    protocol: Annotated[str, OneOf("strict", "released")] = "strict"
    """strict, or released to add the paper's evaluation."""
    device: Annotated[str, OneOf("auto", "cpu", "cuda")] = "auto"
    """auto, cpu or cuda."""

    def completed(self) -> Self:
        """The same run with all settings of its method: defaults, then `settings`."""
        from fairgear.methods import METHODS

        kind = METHODS.resolve(self.method).config_type
        for name in {"seed", "device"} & self.settings.keys():
            allowed, step = "its own, see fairgear methods show", f"use --{name} of fairgear run"
            raise ParameterError(f"settings of {self.method}", repr(name), allowed, step)
        values = kind().to_dict()
        config = kind.from_dict(merged(_quickened(values) if self.quick else values, self.settings))
        check = getattr(config, "check_batches", None)
        if check is not None:
            # The smallest batch of a released split.
            check(100)
        shorter = _QUICK_AUDIT if self.quick else {}
        return replace(self, settings=config.to_dict(), **shorter)

    def for_processes(self, processes: int, *, chosen: bool) -> Self:
        """The same completed run with micro-batches that so many processes can share.

        Their number decides the results, not that of the processes: it is in `config.yaml` like
        any setting. `chosen` says that the user set it.
        """
        batches = self.settings.get("micro_batches")
        if processes == 1 or batches is None:
            return self
        if not chosen:
            return replace(self, settings={**self.settings, "micro_batches": processes})
        if batches % processes == 0:
            return self
        got, allowed = f"{batches} for {processes} processes", f"a multiple of {processes}"
        step = "change it, or the number of processes to one that divides it"
        raise ParameterError("setting micro_batches", got, allowed, step)


def _quickened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with at most as many steps or trees as `_QUICK` allows."""
    found = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            value = _quickened(value)
        elif name in _QUICK:
            value = min(_QUICK[name] if value is None else value, _QUICK[name])
        found[name] = value
    return found


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top, level by level."""
    result = dict(base)
    for key, value in changes.items():
        inner = result.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            value = merged(inner, value)
        result[key] = value
    return result


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file."""
    allowed, step = "a YAML file of settings", "check the path and the file"
    values = read_document(path, "no settings", allowed, step, what="settings file")
    if not isinstance(values, dict):
        raise ParameterError(
            f"settings file {path}",
            f"a {type(values).__name__}",
            "a mapping of settings, such as 'seed: 1'",
            "write one 'name: value' a line",
        )
    found: dict[str, Any] = values
    return found

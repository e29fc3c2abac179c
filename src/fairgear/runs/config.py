"""The settings of a run. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

import yaml

from fairgear.datasets.source import GraphSource
from fairgear.errors import FileError, ParameterError
from fairgear.methods import GearConfig
from fairgear.settings import OneOf, Range

PRESETS = ("default", "paper")
# The method whose settings have flags and presets of their own.
GEAR = "gear"


@dataclass(frozen=True)
class RunConfig(GraphSource):
    """Everything that decides the results of `fairgear run`: the graph, the method, the seed."""

    method: str = "gear"
    """The method to train."""
    preset: Annotated[str, OneOf(*PRESETS)] = "default"
    """The settings to start from: default, or paper (its text, see Gear.paper)."""
    self_people: Annotated[int, Range(0, 10**9)] = 500
    """Most people whose own attribute alone is flipped, in one world each: a large part of the
    time."""
    affected_people: Annotated[int, Range(0, 10**9)] = 10
    """Most affected people who are examined neighbour by neighbour."""
    other_causal_models: bool = True
    """Measure δCF under other causal models too."""
    device: Annotated[str, OneOf("auto", "cpu", "cuda")] = "auto"
    """auto, cpu or cuda."""
    gear: GearConfig = field(default_factory=GearConfig)
    """The settings of Gear."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings of any other method, where they are not its defaults."""

    def to_dict(self) -> dict[str, Any]:
        """As nested plain values: what says nothing about this run is left out."""
        values = super().to_dict()
        for key in ("settings",) if self.method == GEAR else ("gear", "preset"):
            del values[key]
        return values

    def method_settings(self) -> dict[str, Any]:
        """The arguments of the method's constructor, beside seed and device."""
        if self.method != GEAR:
            for name in ("seed", "device"):
                if name in self.settings:
                    raise ParameterError(
                        f"settings of {self.method}",
                        f"{name!r}",
                        "its own, see fairgear methods show",
                        f"use --{name} of fairgear run",
                    )
            return dict(self.settings)
        self.gear.check_batches(100)
        return {name: getattr(self.gear, name) for name in self.gear.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From nested plain values, the method's settings on top of the preset."""
        given = dict(values)
        changes = given.get("gear")
        if isinstance(changes, Mapping):
            start = GearConfig.paper() if given.get("preset") == "paper" else GearConfig()
            given["gear"] = merged(start.to_dict(), changes)
        elif changes is None:
            given["gear"] = (
                GearConfig.paper() if given.get("preset") == "paper" else GearConfig()
            ).to_dict()
        return super().from_dict(given)

    def checked(self, *, labelled: bool = True) -> Self:
        """The same settings with the hash of the files; options that do not fit are refused."""
        if self.method == GEAR and self.settings:
            raise ParameterError(
                "--set",
                f"{next(iter(self.settings))!r} for the method {GEAR!r}",
                "with any other method",
                f"use --{GEAR}.NAME VALUE, see fairgear run --help",
            )
        if self.method != GEAR and self.gear != GearConfig():
            raise ParameterError(
                f"settings of {GEAR}",
                f"the method {self.method!r}",
                f"with the method {GEAR!r}",
                f"use --set NAME=VALUE, see fairgear methods show {self.method}",
            )
        return super().checked(labelled=labelled)


def with_micro_batches(config: RunConfig, processes: int, *, chosen: bool) -> RunConfig:
    """The same settings with micro-batches that so many processes can share.

    What decides the results is their number, not that of the processes: it is noted in
    `config.yaml` like any setting, and `chosen` says that somebody has set it.
    """
    if config.method != GEAR or processes == 1:
        return config
    if not chosen:
        return replace(config, gear=replace(config.gear, micro_batches=processes))
    if config.gear.micro_batches % processes:
        raise ParameterError(
            "setting gear.micro_batches",
            f"{config.gear.micro_batches} for {processes} processes",
            f"a multiple of {processes}",
            "change it, or the number of processes to one that divides it",
        )
    return config


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, level by level."""
    result = dict(base)
    for key, value in changes.items():
        inner = result.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            value = merged(inner, value)
        result[key] = value
    return result


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or "no valid YAML"
        raise FileError(
            f"settings file {path}",
            reason,
            "a YAML file of settings",
            "check the path and the file",
        ) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ParameterError(
            f"settings file {path}",
            f"a {type(values).__name__}",
            "a mapping of settings, such as 'seed: 1'",
            "write one 'name: value' a line",
        )
    return values

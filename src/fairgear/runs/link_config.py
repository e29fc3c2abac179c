"""The settings of `fairgear links`. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

from fairgear.datasets.source import GraphSource
from fairgear.errors import ParameterError
from fairgear.runs.audit_config import is_scores
from fairgear.runs.config import GEAR, merged
from fairgear.settings import OneOf, Range

# The methods for links, for a shell that has not loaded torch.
NAMES = (
    *("gear", "graphsage", "gcn", "nifty-sage", "nifty-gcn", "c-enc"),
    *("fairdrop", "fairwalk"),
    *("logistic", "common-neighbours", "adamic-adar", "preferential-attachment"),
)


@dataclass(frozen=True)
class LinkConfig(GraphSource):
    """Everything that decides the results of `fairgear links`."""

    method: str = GEAR
    """The method to train, or the model to audit."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings of the method; those that are missing have their defaults."""
    quick: bool = False
    """Whether a few steps and a smaller audit are enough."""
    time: str = ""
    """Column of --edges, numbers or dates: the latest links
    are for test. [default: drawn at random]"""
    train: Annotated[float, Range(0, 1)] = 0.2
    """Share of the links to train on. [default: 0.2]"""
    val: Annotated[float, Range(0, 1)] = 0.05
    """Share to choose by. [default: 0.05]"""
    test: Annotated[float, Range(0, 1)] = 0.15
    """Share to audit; all others stay visible. [default: 0.15]"""
    negatives: Annotated[str, OneOf("uniform", "degree")] = "uniform"
    """Pairs that are not linked: uniform among all, or with ends
    in proportion to their degree. [default: uniform]"""
    per_link: Annotated[int, Range(1, 1000)] = 1
    """How many of them for each link. [default: 1]"""
    draws: Annotated[int, Range(1, 1000)] = 3
    """Worlds per random intervention. [default: 3]"""
    self_pairs: Annotated[int | None, Range(0, 2**31)] = None
    """Pairs whose ends are changed by themselves. [default: all of
    a small graph, else 100, of a command 5]"""
    list_people: Annotated[int | None, Range(0, 2**31)] = None
    """People whose lists are compared. [default: 200, fewer of a command]"""
    k: Annotated[int, Range(1, 10_000)] = 10
    """Places of a list. [default: 10]"""
    causal: str = "own"
    """own (the graph's), shift, quantile, gaussian, …, a diagram of
    yours (.yaml, .gml, .dot), MODULE:NAME, or a saved model. [default: own]"""
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95
    """Of the intervals. [default: 0.95]"""
    threshold: float | None = None
    """Scores above it predict a link. [default: the model's own, 0.5 of
    probabilities, else the most accurate on validation pairs]"""
    timeout: float = 300.0
    """Seconds of a command for one graph. [default: 300]"""
    device: Annotated[str, OneOf("auto", "cpu", "cuda")] = "auto"
    """auto, cpu or cuda. [default: auto]"""

    @property
    def trains(self) -> bool:
        """Whether `method` is trained here, not a model to be audited as it is."""
        from fairgear.links import LINK_METHODS

        return self.method in LINK_METHODS

    def completed(self) -> Self:
        """The same settings with all of the method: defaults, then `settings`."""
        if self.time and not self.data.edges:
            got, allowed = f"{self.time!r} without --edges", "a column of the list of edges"
            raise ParameterError("--time", got, allowed, "name the list too, or leave it out")
        if self.trains:
            return replace(self, settings=self._all_settings(), **self._shorter())
        if self.settings:
            got = f"{next(iter(self.settings))!r} of {self.method!r}, which is not trained here"
            allowed = "settings of a method of fairgear"
            raise ParameterError("--set", got, allowed, "leave it out")
        if is_scores(self.method) and self.time:
            got, allowed = "it beside a file of scores", "a model that can be asked for pairs"
            raise ParameterError("--time", got, allowed, "leave it out")
        return replace(self, **self._shorter())

    def _all_settings(self) -> dict[str, Any]:
        from fairgear.links import LINK_METHODS

        kind: Any = LINK_METHODS[self.method]
        for name in {"seed", "device"} & self.settings.keys():
            step = f"use --{name} of fairgear links"
            raise ParameterError(f"settings of {self.method}", repr(name), "its own", step)
        values: Mapping[str, Any] = kind.config_type().to_dict()
        if self.quick and "steps" in values:
            values = {**values, "steps": 40}
        all_of_them: dict[str, Any] = kind.config_type.from_dict(
            merged(values, self.settings)
        ).to_dict()
        return all_of_them

    def _shorter(self) -> dict[str, Any]:
        """What --quick makes of the audit, where nothing else was said."""
        if not self.quick:
            return {}
        few = {"self_pairs": 20, "list_people": 20}
        return {name: most for name, most in few.items() if getattr(self, name) is None}

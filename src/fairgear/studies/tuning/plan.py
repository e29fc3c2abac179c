"""What is tuned: a graph, a method with its searched settings, and the candidates to measure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairgear.datasets.source import GraphSource
from fairgear.errors import ParameterError
from fairgear.methods import METHODS
from fairgear.runs.config import RunConfig
from fairgear.studies.judging.plan import RECIPE, Contestant, Dimension, read_contestants
from fairgear.version import installed_version

# Kinds of candidates: the method as it is, methods that read no graph, and settings that are tried.
DEFAULT, FLOOR, TRIAL = "default", "floor", "trial"
# The floors, which read no graph: without them one would not know what a graph is worth.
_FLOORS = ("logistic", "logistic-residual", "boosting")
# Searched numbers have so many digits: they are typed on a command line.
_DIGITS = 3


@dataclass(frozen=True)
class Tuning:
    """The settings of one method, searched on one graph.

    Attributes:
        source: the graph and its split, complete and with absolute paths, since worker processes
            may be in another folder; its test people are never there.
        contestant: the method, what is fixed and what is searched.
        trials: how many settings are tried.
        halves: 1 or 2: how often a trial is fitted, each time judged by one half of the validation
            people while the other half stops the training.
        quick: whether a few steps are enough, as in `fairgear run --quick`.
        device: auto, cpu or cuda.
        typed: the source as the user named it, for the command; the same if not given.
    """

    source: GraphSource
    contestant: Contestant
    trials: int = 40
    halves: int = 2
    quick: bool = False
    device: str = "auto"
    typed: GraphSource | None = None

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ParameterError("--trials", self.trials, "1 or more", "use 40")
        if self.halves not in (1, 2):
            raise ParameterError("--halves", self.halves, "1 or 2", "leave it out")
        if self.contestant.problem:
            got, step = self.contestant.problem, "correct the recipe"
            raise ParameterError(f"recipe of {self.contestant.name}", got, "settings of it", step)

    @cached_property
    def recipe(self) -> str:
        """A hash of what decides a trial, besides its number."""
        one = self.contestant
        what = [self.source.to_dict(), one.entry, dict(one.fixed), self.halves]
        what += [[asdict(each) for each in one.space], self.quick, installed_version()]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]

    def config(self, method: str, settings: Mapping[str, Any]) -> RunConfig:
        """The run with these settings."""
        values = {"method": method, "settings": dict(settings), "quick": self.quick}
        return RunConfig.from_dict({**self.source.to_dict(), **values, "device": self.device})

    def references(self) -> list[Candidate]:
        """The method as it is, then the floors."""
        default = Candidate(self, DEFAULT, 0, self.contestant.entry, {})
        floors = [name for name in _FLOORS if name != self.contestant.entry]
        return [default, *(Candidate(self, FLOOR, at, name, {}) for at, name in enumerate(floors))]

    def trial(self, number: int, settings: Mapping[str, Any]) -> Candidate:
        """A trial, with numbers as they can be typed."""
        rounded = {one.name: _typed(one, settings[one.name]) for one in self.contestant.space}
        return Candidate(self, TRIAL, number, self.contestant.entry, rounded)


@dataclass(frozen=True)
class Candidate:
    """One method with settings, to be fitted and measured.

    Attributes:
        tuning: what it belongs to.
        kind: default, floor or trial.
        number: among those of its kind.
        entry: the method, such as `gear:encoder=mlp`.
        searched: the searched settings, of a trial.
    """

    tuning: Tuning
    kind: str
    number: int
    entry: str
    searched: Mapping[str, Any]

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.entry.partition(":")[0]

    @property
    def settings(self) -> dict[str, Any]:
        """What `fairgear run --set` gets."""
        contestant = self.tuning.contestant
        if self.kind == FLOOR:
            return {}
        return contestant.given(self.searched) if self.kind == TRIAL else contestant.own

    @property
    def name(self) -> str:
        """For messages and tables."""
        return {DEFAULT: "default", FLOOR: self.entry}.get(self.kind, f"trial {self.number}")

    @property
    def graph(self) -> str:
        """All candidates share the worlds of one graph."""
        return self.tuning.source.dataset

    @property
    def key(self) -> tuple[str, int]:
        """What distinguishes its row."""
        return self.kind, self.number

    @property
    def config(self) -> RunConfig:
        """The run that its settings describe."""
        return self.tuning.config(self.method, self.settings)


def contestant(name: str, recipe: Path | None = None) -> Contestant:
    """The method of that name, with what is searched, from a recipe; the package's if not given."""
    path = RECIPE if recipe is None else recipe
    known = {one.entry: one for one in read_contestants(path)}
    if name not in known:
        if name.partition(":")[0] not in METHODS:
            _ = METHODS[name]
        step = "choose one of them, or name a --recipe that says what is searched"
        raise ParameterError(f"method to tune with {path.name}", repr(name), ", ".join(known), step)
    return known[name]


def _typed(one: Dimension, value: Any) -> Any:
    """A value with few digits, within its range."""
    if one.choices or one.whole:
        return value
    low, high = one.ends()
    rounded = float(f"{value:.{_DIGITS}g}")
    return value if math.isnan(rounded) else min(max(rounded, low), high)

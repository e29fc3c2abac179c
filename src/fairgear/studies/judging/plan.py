"""Plan: which methods are judged on which datasets, and what is searched for each; from YAML."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairgear.datasets import DATASETS
from fairgear.datasets.source import GraphSource
from fairgear.errors import FairgearError, FileError, ParameterError
from fairgear.methods import METHODS, Method
from fairgear.progress import log
from fairgear.runs.config import merged, read_yaml
from fairgear.studies.spec import Entry

RECIPE = Path(str(files("fairgear.studies") / "recipes" / "judging.yaml"))
# The name of the point that the search chose, beside those of the dial.
CHOSEN = "chosen"
# The trial with the highest AUROC, whatever its flips: what a method reaches without fairness.
ACCURATE = "most accurate"
# What a recipe of another shape causes.
_WRONG = (KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class Dimension:
    """One setting that is searched: a range of numbers, or choices.

    Attributes:
        name: of the setting; `generator.steps` is a nested one.
        low, high: the ends of the range.
        log: whether steps of the logarithm are even.
        whole: whether only whole numbers are tried.
        choices: the values, where there is no range.
    """

    name: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Dimension:
        """From the YAML file."""
        read = cls(**{**values, "choices": tuple(values.get("choices", ()))})
        ends = (read.low, read.high)
        if bool(read.choices) == (None not in ends) or ends.count(None) == 1:
            raise ParameterError(
                f"searched setting {read.name}",
                dict(values),
                "either low and high, or choices",
                "correct the recipe",
            )
        return read

    def ends(self) -> tuple[Any, ...]:
        """All choices, or the ends of the range: what a method must accept."""
        if self.choices:
            return self.choices
        assert self.low is not None
        assert self.high is not None
        kind = int if self.whole else float
        return kind(self.low), kind(self.high)


@dataclass(frozen=True)
class Dial:
    """The setting that a trade-off curve turns, and its values."""

    setting: str
    values: tuple[float, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Dial:
        """From the YAML file."""
        return cls(values["setting"], tuple(values["values"]))

    def point(self, value: float) -> str:
        """The name of a point of the curve."""
        return f"{self.setting}={value:g}"


@dataclass(frozen=True)
class Contestant:
    """A method with what is fixed, what is searched, and its dial.

    Attributes:
        name: as tables show it.
        entry: the method, with settings that are not its defaults, as `gear:encoder=mlp`.
        fixed: further settings; names of nested ones have dots.
        space: the settings that are searched.
        dial: for its trade-off curve.
    """

    name: str
    entry: str
    fixed: Mapping[str, Any]
    space: tuple[Dimension, ...]
    dial: Dial

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Contestant:
        """From the YAML file."""
        space = tuple(Dimension.read(one) for one in values["space"])
        parts = {"space": space, "dial": Dial.read(values["dial"])}
        return cls(**{"fixed": {}, **values, **parts})

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.entry.partition(":")[0]

    @property
    def reads_graph(self) -> bool:
        """Whether it uses edges."""
        return Entry.parse(self.entry).reads_graph

    @property
    def own(self) -> dict[str, Any]:
        """The settings that its entry names."""
        return Entry.parse(self.entry).settings

    def given(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that are not the method's own: the entry's, fixed and searched ones."""
        return merged(self.own, _nested({**self.fixed, **chosen}))

    def settings(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of the method, with searched ones as chosen."""
        entry = replace(Entry.parse(self.entry), settings=self.given(chosen))
        return entry.config(GraphSource(), 0).settings

    def build(self, chosen: Mapping[str, Any], seed: int, device: str) -> Method:
        """The method, ready to be fitted."""
        return METHODS[self.method](seed=seed, device=device, **self.settings(chosen))

    def points(
        self, chosen: Mapping[str, Any], accurate: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Searched settings by the point's name: the two choices, then the dial's."""
        dial = self.dial
        turned = {dial.point(value): {**chosen, dial.setting: value} for value in dial.values}
        return {CHOSEN: dict(chosen), ACCURATE: dict(accurate), **turned}

    @cached_property
    def problem(self) -> str:
        """Why this version cannot build it, or nothing."""
        first = {one.name: one.ends()[0] for one in self.space}
        tried = [{**first, one.name: value} for one in self.space for value in one.ends()]
        try:
            for chosen in [first, *tried, *self.points(first, first).values()]:
                self.build(chosen, 0, "cpu")
        except FairgearError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Plan:
    """Everything that is equal for all methods, the datasets and the methods.

    Attributes:
        title: as the page shows it.
        seed: part of every sampler's seed.
        trials: how many each search has.
        split: of the open people.
        inner_seeds: its draws, by dataset; a trial's score is the mean over them.
        final_seeds: of the splits of the final fits.
        curve_seeds: those of them that trade-off curves have.
        search_draws, final_draws: worlds for each random intervention.
        methods: by name.
    """

    title: str
    seed: int
    trials: int
    split: str
    inner_seeds: Mapping[str, tuple[int, ...]]
    final_seeds: tuple[int, ...]
    curve_seeds: tuple[int, ...]
    search_draws: int
    final_draws: int
    methods: Mapping[str, Contestant]

    @classmethod
    def read(cls, path: Path | None = None) -> Plan:
        """The plan of a YAML file; that of the package if not given."""
        path = RECIPE if path is None else path
        values = read_yaml(path)
        try:
            seeds = {
                one["name"]: tuple(one.get("inner_seeds", values["inner_seeds"]))
                for one in values.pop("datasets")
            }
            methods = _contestants(values)
            values |= {name: tuple(values[name]) for name in ("final_seeds", "curve_seeds")}
            by_name = {one.name: one for one in methods}
            return cls(**values | {"inner_seeds": seeds, "methods": by_name})
        except _WRONG as error:
            raise _unreadable(path, error) from error

    @property
    def datasets(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(self.inner_seeds)

    def only(self, datasets: Sequence[str] = (), methods: Sequence[str] = ()) -> Plan:
        """The part that is wanted, less what this version does not have.

        A method may be named as in tables or by its entry.
        """
        for kind, wanted, known in (
            ("dataset", datasets, self.datasets),
            ("method", methods, [*self.methods, *(one.entry for one in self.methods.values())]),
        ):
            for name in wanted:
                if name not in known:
                    allowed = ", ".join(dict.fromkeys(known))
                    step = "choose one of the recipe"
                    raise ParameterError(f"{kind} to judge", repr(name), allowed, step)
        seeds = {
            name: of for name, of in self.inner_seeds.items() if name in (datasets or self.datasets)
        }
        chosen = {
            name: one
            for name, one in self.methods.items()
            if not methods or {name, one.entry} & set(methods)
        }
        return replace(
            self,
            inner_seeds={name: of for name, of in seeds.items() if _known(name)},
            methods={name: one for name, one in chosen.items() if _buildable(one)},
        )

    def fingerprint(self, dataset: str, method: str) -> str:
        """A hash of what decides the trials of one search, their number aside."""
        one = self.methods[method]
        what = [self.seed, self.split, self.inner_seeds[dataset], self.search_draws]
        what += [one.entry, dict(one.fixed), [asdict(each) for each in one.space]]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def read_contestants(path: Path) -> list[Contestant]:
    """The methods of a recipe, whatever else it holds."""
    values = read_yaml(path)
    try:
        return _contestants(values)
    except _WRONG as error:
        raise _unreadable(path, error) from error


def _contestants(values: dict[str, Any]) -> list[Contestant]:
    return [Contestant.read(one) for one in values.pop("methods")]


def _unreadable(path: Path, error: Exception) -> FileError:
    got = " ".join(f"{type(error).__name__}: {error}".split())
    return FileError(
        f"recipe {path}", got, "a recipe with the keys of judging.yaml", "correct the file"
    )


def _known(dataset: str) -> bool:
    if dataset not in DATASETS:
        log(f"the dataset {dataset} is left out: this version of fairgear does not have it")
        return False
    return True


def _buildable(one: Contestant) -> bool:
    if one.problem:
        log(f"the method {one.name} is left out: {one.problem}")
    return not one.problem


def _nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`generator.steps` as a nested setting."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        *outer, last = name.split(".")
        inner: dict[str, Any] = values
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return values

"""Recipe: what a table or a figure of the paper is made of, read from YAML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.published import SPLIT
from fairgear.experiments.reproduce.claims import Claim
from fairgear.experiments.reproduce.trends import Trend
from fairgear.methods import METHODS
from fairgear.registry import Registry

# In the order in which the paper has them; the last two are not in it.
NAMES = ("table1", "table2", "table3", "tableS1", "figure5", "tradeoff", "additions")


@dataclass(frozen=True)
class Line:
    """One line of a table, or one point of a curve.

    Attributes:
        name: as tables have it.
        entry: the method with its settings.
        published: what the paper calls it; empty where the paper has no such line.
        family: the curve that it is a point of; empty for none.
        value: where on that curve.
        own: whether the value is the one that is used where nothing is varied.
    """

    name: str
    entry: Entry
    published: str = ""
    family: str = ""
    value: float = math.nan
    own: bool = False


@dataclass(frozen=True)
class Recipe:
    """A table or a figure.

    Attributes:
        name: what it is asked for by.
        title: for people.
        kind: `statistics`, where nothing is trained, `table`, `sweeps` or `dials`.
        datasets: which it is of.
        lines: its runs, for each dataset and seed.
        published: the paper's table; empty where it is a figure or ours.
        figure: `encoders`, `sweeps` or `tradeoffs`; empty where there is none.
        groups: names for sets of lines.
        claims: what the paper says of it.
        trends: the same of curves.
        seeds: how many it has where nobody says.
    """

    name: str
    title: str
    kind: str
    datasets: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    published: str = ""
    figure: str = ""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    trends: tuple[Trend, ...] = ()
    seeds: int = 10


def recipe(name: str, *, quick: bool = False) -> Recipe:
    """The recipe of that name.

    Args:
        name: one of `NAMES`.
        quick: fewer steps in every run, and fewer points on every curve.
    """
    known: Registry[str] = Registry("table or figure")
    for one in NAMES:
        known.add(one, one)
    plan = read(known[name])
    groups = {key: tuple(names) for key, names in plan.get("groups", {}).items()}
    return Recipe(
        name,
        plan["title"],
        plan["kind"],
        tuple(plan["datasets"]),
        tuple(_lines(plan, quick)),
        plan.get("published", ""),
        plan.get("figure", ""),
        groups,
        tuple(Claim.of(one, groups) for one in plan.get("claims", ())),
        tuple(Trend.of(one) for one in plan.get("trends", ())),
        1 if quick else plan.get("seeds", Recipe.seeds),
    )


@cache
def read(name: str) -> Any:
    """A YAML file that is shipped with the package."""
    source = files("fairgear.experiments.reproduce") / "recipes" / f"{name}.yaml"
    return yaml.safe_load(source.read_text(encoding="utf-8"))


def varied(text: str, changes: Mapping[str, Any], *, quick: bool = False) -> Entry:
    """An entry with some settings changed, under the one name that such runs have.

    What it would have anyway is left out of the name, so that the same run in two figures is one.
    """
    start = Entry.of(text)
    made = METHODS[start.method](**start.run("synthetic", 0, SPLIT).method_settings())
    kept = dict(_flat(start.settings))
    kept |= {name: value for name, value in changes.items() if _value(made, name) != value}
    if quick:
        kept |= read("quick").get(start.method, {})
    typed = ",".join(f"{name}={_typed(kept[name])}" for name in sorted(kept))
    return Entry.of(f"{start.method}:{typed}" if typed else start.method)


def _lines(plan: Mapping[str, Any], quick: bool) -> Iterator[Line]:
    for one in plan.get("lines", ()):
        entry = varied(one["entry"], {}, quick=quick)
        yield Line(one["name"], entry, one.get("published", ""))
    for sweep in plan.get("sweeps", ()):
        yield from _curve(sweep["label"], plan["base"], sweep, quick)
    if "dials" in plan:
        yield from _dials(plan, quick)


def _dials(plan: Mapping[str, Any], quick: bool) -> Iterator[Line]:
    """Points of curves, then those of the table that lie on none; a run has one name."""
    points = {line.entry.label: line for line in _lines(read(plan["points"]), quick)}
    for dial in plan["dials"]:
        for line in _curve(dial["family"], dial["base"], dial, quick):
            known = points.pop(line.entry.label, None)
            yield line if known is None else replace(line, name=known.name)
    yield from points.values()


def _curve(family: str, base: str, plan: Mapping[str, Any], quick: bool) -> Iterator[Line]:
    setting = plan["setting"]
    bare = varied(base, {}, quick=quick)
    for value in plan["quick" if quick else "values"]:
        entry = varied(base, {setting: value}, quick=quick)
        whose = f"{plan.get('method', family)}, {setting}" if "family" in plan else family
        name = f"{whose} = {value:g}"
        yield Line(name, entry, family=family, value=float(value), own=entry == bare)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _value(method: Any, name: str) -> Any:
    found = method.config
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _typed(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    # 0.0 and 0 are one value, and have one name.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

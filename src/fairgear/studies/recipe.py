"""Recipe: the runs that a table or a figure of the paper needs, read from YAML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from fairgear.datasets.source import GraphSource
from fairgear.documents import yaml_of
from fairgear.methods import METHODS
from fairgear.registry import Registry
from fairgear.studies.claims import Claim, Trend
from fairgear.studies.spec import Entry

# In the paper's order; the last is not in it.
NAMES = ("table1", "table2", "table3", "tableS1", "figure5", "tradeoff")


@dataclass(frozen=True)
class Line:
    """One line of a table, or one point of a curve.

    Attributes:
        name: as tables show it.
        entry: the method with its settings.
        published: the paper's name for it; empty where the paper has no such line.
        family: the curve that it is a point of; empty for none.
        value: its place on that curve.
        own: whether that value is the base's own.
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
        name: one of `NAMES`.
        title: as the page shows it.
        datasets: the datasets it covers.
        lines: its runs, for each dataset and seed; none for a table that counts the graphs.
        published: the paper's table; empty where the paper has no figures for it.
        figure: `encoders`, `sweeps` or `tradeoffs`; empty for none.
        claims: what the paper says about its lines.
        trends: what it says about its curves.
        seeds: how many, by default.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    published: str = ""
    figure: str = ""
    claims: tuple[Claim, ...] = ()
    trends: tuple[Trend, ...] = ()
    seeds: int = 10


def read_recipe(name: str, *, quick: bool = False) -> Recipe:
    """The recipe of that name.

    Args:
        name: one of `NAMES`.
        quick: fewer steps in every run, and fewer points on every curve.
    """
    known: Registry[str] = Registry("table or figure")
    for one in NAMES:
        known.add(one, one)
    plan = read_yaml(known[name])
    groups = {key: tuple(names) for key, names in plan.get("groups", {}).items()}
    return Recipe(
        name,
        plan["title"],
        tuple(plan["datasets"]),
        tuple(_lines(plan, quick)),
        plan.get("published", ""),
        plan.get("figure", ""),
        tuple(Claim.read(one, groups) for one in plan.get("claims", ())),
        tuple(Trend.read(one) for one in plan.get("trends", ())),
        1 if quick else plan.get("seeds", Recipe.seeds),
    )


@cache
def read_yaml(name: str) -> Any:
    """A YAML file that comes with the package."""
    source = files("fairgear.studies") / "recipes" / f"{name}.yaml"
    return yaml_of(source.read_text(encoding="utf-8"))


def varied(text: str, changes: Mapping[str, Any], *, quick: bool = False) -> Entry:
    """An entry with some settings changed, under the one label that such runs have.

    The label leaves out what is the default anyway, so that the same run in two figures is one.
    """
    start = Entry.parse(text)
    method = METHODS[start.method](**start.config(GraphSource(), 0).settings)
    kept = dict(_flat(start.settings))
    kept |= {name: value for name, value in changes.items() if _value(method, name) != value}
    if quick:
        kept |= read_yaml("quick").get(start.method, {})
    typed = ",".join(f"{name}={_typed(kept[name])}" for name in sorted(kept))
    return Entry.parse(f"{start.method}:{typed}" if typed else start.method)


def _lines(plan: Mapping[str, Any], quick: bool) -> Iterator[Line]:
    for one in plan.get("lines", ()):
        entry = varied(one["entry"], {}, quick=quick)
        yield Line(one["name"], entry, one.get("published", ""))
    for sweep in plan.get("sweeps", ()):
        yield from _curve(sweep["label"], plan["base"], sweep, quick)
    if "dials" in plan:
        yield from _dials(plan, quick)


def _dials(plan: Mapping[str, Any], quick: bool) -> Iterator[Line]:
    """Points of curves, then the lines of the table that lie on none; one name for each run."""
    points = {line.entry.label: line for line in _lines(read_yaml(plan["points"]), quick)}
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
        title = f"{plan.get('method', family)}, {setting}" if "family" in plan else family
        name = f"{title} = {value:g}"
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
    # 0.0 and 0 are the same value.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

"""What the causal model does to the graph, and how well it describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairgear.auditing.names import Names
from fairgear.causal import Diagnostics
from fairgear.causal.diagnostics import Effect
from fairgear.metrics import Interval
from fairgear.report.numbers import between, count, measure, percent, plain
from fairgear.report.sections.groups import MANY
from fairgear.report.world_words import world_words

_STANDING = {
    True: "Its equations are those that made this graph: the worlds are exact.",
    False: "It is an assumption about this graph: another one can give other worlds, and other "
    "flips.",
}
_QUALITY = {
    "edges": ("kind of edge model", "What the probability of a link is assumed to depend on."),
    "gate_open": (
        "links may move",
        "No where the edge model describes the graph too poorly to move links by it.",
    ),
    "auc": (
        "links distinguished from non-links",
        "AUC on pairs of people that it was not fitted on; 0.5 is guessing.",
    ),
    "auc_without_degrees": (
        "the same, without degrees",
        "By similarity and groups alone, which are what moves the links.",
    ),
    "held_out_edges": ("number of links", "On pairs that it was not fitted on."),
    "bins": (
        "number of links, by class",
        "The same in classes of pairs, from the least likely to the most likely.",
    ),
    "misplaced": (
        "links expected elsewhere",
        "Share of the links that it expects among pairs of another likelihood.",
    ),
    "parameters": ("weight", "With its interval."),
    "new_edges_missed": (
        "new links missed",
        "Expected among pairs that were not examined, with the error of that estimate.",
    ),
}


@dataclass(frozen=True)
class Explained:
    """A figure and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class DiagnosticsSection:
    """The section on the causal model; `effects` are names, meanings and values by intervention."""

    standing: str
    interventions: tuple[str, ...]
    effects: tuple[tuple[str, str, tuple[str, ...]], ...]
    quality: tuple[Explained, ...]

    @property
    def upright(self) -> bool:
        """Whether worlds are rows of the table: as columns, so many would not fit on a screen."""
        return len(self.interventions) > MANY


def diagnostics_section(
    found: Diagnostics, names: Names, *, two_groups: bool
) -> DiagnosticsSection:
    """The section on one causal model."""
    return DiagnosticsSection(
        standing=_STANDING[found.exact],
        interventions=tuple(
            world_words(effect.intervention, names, two_groups=two_groups)
            for effect in found.effects
        ),
        effects=tuple(
            (name, meaning, tuple(shown(effect) for effect in found.effects))
            for name, meaning, shown in _FIGURES
        ),
        quality=_quality(found.quality),
    )


def _edges(changed: int, effect: Effect) -> str:
    """Links as a number and as a share of the existing ones."""
    there = effect.before.edges
    return f"{count(changed)} ({percent(changed / there)})" if there else count(changed)


def _both(key: str, written: Callable[[float], str], effect: Effect) -> str:
    """Before and after."""
    return f"{written(getattr(effect.before, key))} → {written(getattr(effect.after, key))}"


_FIGURES: tuple[tuple[str, str, Callable[[Effect], str]], ...] = (
    ("people set", "Share whose sensitive attribute changes.", lambda e: percent(e.people_set)),
    ("people moved", "Share whose other features change.", lambda e: percent(e.people_moved)),
    (
        "features moved",
        "How far, on average, among the people set, in standard deviations of each feature.",
        lambda e: measure(e.feature_change),
    ),
    ("links added", "And as a share of the existing ones.", lambda e: _edges(e.edges_added, e)),
    ("links removed", "And as a share of the existing ones.", lambda e: _edges(e.edges_removed, e)),
    ("classes changed", "People whose class changes.", lambda e: count(e.labels_changed)),
    ("links per person", "Mean, before → after.", lambda e: _both("degree_mean", measure, e)),
    ("people without links", "Before → after.", lambda e: _both("isolated", count, e)),
    (
        "links within a group",
        "Homophily by the sensitive attribute, or its range, before → after.",
        lambda e: _both("sens_homophily", percent, e),
    ),
    (
        "links within a class",
        "Homophily by class, before → after.",
        lambda e: _both("label_homophily", percent, e),
    ),
)


def _quality(quality: Mapping[str, object]) -> tuple[Explained, ...]:
    found = []
    for key, value in quality.items():
        name, meaning = _QUALITY.get(key, (key.replace("_", " "), ""))
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()):
            found += [
                Explained(f"{name}: {inner}".replace("_", " "), _written(entry), meaning)
                for inner, entry in value.items()
            ]
        elif key == "misplaced" and isinstance(value, float):
            found.append(Explained(name, percent(value), meaning))
        else:
            found.append(Explained(name, _written(value), meaning))
    return tuple(found)


def _written(value: object) -> str:
    """A value with its interval or its error, expected beside actual, or any other value."""
    if isinstance(value, list | tuple):
        return "; ".join(_written(entry) for entry in value) or "none"
    if not isinstance(value, Mapping):
        return plain(value)
    keys = set(value)
    if keys == {"value", "low", "high"}:
        low, high = (math.nan if end is None else end for end in (value["low"], value["high"]))
        return f"{measure(value['value'])} ({between(Interval(low, high))})"
    if keys == {"expected", "standard_error"}:
        return f"{count(value['expected'])} ± {count(value['standard_error'])}"
    if keys == {"expected", "actual"}:
        return f"{count(value['expected'])} expected, {count(value['actual'])} there"
    return ", ".join(f"{key}: {_written(entry)}" for key, entry in value.items()) or "none"

"""What the causal model does to the graph, and how well it describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairgear.report.explained import Explained
from fairgear.report.numbers import UNDEFINED, between, count, measure, percent, plain
from fairgear.report.parts import Part, finite, interval, mapping, number, rows, sequence

_EFFECTS = {
    "all 0": "everybody is 0",
    "all 1": "everybody is 1",
    "half": "half are 1",
}
_STANDING = {
    "True": "Its equations are those that made this graph: the worlds are exact.",
    "False": "It is an assumption about this graph: another one can give other worlds, and other "
    "flips.",
}
_QUALITY = {
    "edges": ("kind of edge model", "What the chance of a link is taken to depend on."),
    "gate_open": (
        "links may move",
        "No where the edge model describes the graph too poorly to move links by.",
    ),
    "auc": (
        "links told from non-links",
        "AUC on pairs of people that it was not fitted on; 0.5 is guessing.",
    ),
    "auc_without_degrees": (
        "the same, without degrees",
        "By likeness and groups alone, which are what moves the links.",
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
        "Expected among pairs that were not looked at, with the error of that estimate.",
    ),
}


@dataclass(frozen=True)
class EffectRow:
    """One figure under every intervention."""

    name: str
    values: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class DiagnosticsSection:
    """Everything said about the causal model."""

    model: str
    standing: str
    interventions: tuple[str, ...]
    effects: tuple[EffectRow, ...]
    quality: tuple[Explained, ...]
    notes: tuple[str, ...]


def diagnostics_section(part: Part) -> DiagnosticsSection | None:
    """The section; None where the causal model gave no account of itself."""
    found = mapping(mapping(part, "details"), "diagnostics")
    if not found:
        return None
    effects = rows(found, "effects")
    names = [str(effect.get("intervention") or "unnamed") for effect in effects]
    return DiagnosticsSection(
        model=str(found.get("model") or "unnamed"),
        standing=_STANDING.get(str(found.get("exact")), ""),
        interventions=tuple(_EFFECTS.get(name, name) for name in names),
        effects=tuple(
            EffectRow(name, tuple(shown(effect) for effect in effects), meaning)
            for name, meaning, shown in _FIGURES
        )
        if effects
        else (),
        quality=_quality(mapping(found, "quality")),
        notes=tuple(str(note) for note in sequence(found, "notes")),
    )


def _share(key: str) -> Callable[[Part], str]:
    return lambda effect: percent(number(effect, key))


def _edges(key: str) -> Callable[[Part], str]:
    """Links as a number and as a share of those that there are."""

    def shown(effect: Part) -> str:
        changed, there = number(effect, key), number(mapping(effect, "before"), "edges")
        if changed is None or not there:
            return count(changed)
        return f"{count(changed)} ({percent(changed / there)})"

    return shown


def _both(key: str, written: Callable[[float | None], str]) -> Callable[[Part], str]:
    """Before and after."""

    def shown(effect: Part) -> str:
        before, after = (number(mapping(effect, when), key) for when in ("before", "after"))
        if before is None and after is None:
            return UNDEFINED
        return f"{written(before)} → {written(after)}"

    return shown


_FIGURES: tuple[tuple[str, str, Callable[[Part], str]], ...] = (
    ("people set", "Share whose sensitive attribute is changed.", _share("people_set")),
    ("people moved", "Share whose other features change with it.", _share("people_moved")),
    (
        "features moved",
        "How far, on average, among the people set, in standard deviations of each feature.",
        lambda effect: measure(number(effect, "feature_change")),
    ),
    ("links added", "And as a share of all that there are.", _edges("edges_added")),
    ("links removed", "And as a share of all that there are.", _edges("edges_removed")),
    ("classes changed", "People whose class changes.", lambda e: count(e.get("labels_changed"))),
    ("links a person", "Mean, before → after.", _both("degree_mean", measure)),
    ("people without links", "Before → after.", _both("isolated", count)),
    (
        "links within a group",
        "Homophily by the sensitive attribute, before → after.",
        _both("sens_homophily", percent),
    ),
    (
        "links within a class",
        "Homophily by class, before → after.",
        _both("label_homophily", percent),
    ),
)


def _quality(quality: Part) -> tuple[Explained, ...]:
    found = []
    for key, value in quality.items():
        name, meaning = _QUALITY.get(key, (key.replace("_", " "), ""))
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()):
            found += [
                Explained(f"{name}: {inner}".replace("_", " "), _written(entry), meaning)
                for inner, entry in value.items()
            ]
        else:
            written = percent(finite(value)) if key == "misplaced" else _written(value)
            found.append(Explained(name, written, meaning))
    return tuple(found)


def _written(value: object) -> str:
    """A value with its interval or its error, expected beside actual, or whatever it is."""
    if isinstance(value, list | tuple):
        return "; ".join(_written(entry) for entry in value) or "none"
    if not isinstance(value, Mapping):
        return plain(value)
    keys = set(value)
    if keys == {"value", "low", "high"}:
        ends = interval((value["low"], value["high"]))
        return f"{measure(finite(value['value']))} ({between(ends)})"
    if keys == {"expected", "standard_error"}:
        return f"{count(value['expected'])} ± {count(value['standard_error'])}"
    if keys == {"expected", "actual"}:
        return f"{count(value['expected'])} expected, {count(value['actual'])} there"
    return ", ".join(f"{key}: {_written(entry)}" for key, entry in value.items()) or "none"

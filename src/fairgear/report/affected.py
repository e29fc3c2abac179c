"""The people most affected: how their answers change, and which neighbours matter most."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.names import class_name, group_name, names_of
from fairgear.report.numbers import UNDEFINED, measure, percent, signed
from fairgear.report.parts import Part, mapping, number, rows


@dataclass(frozen=True)
class World:
    """What one intervention does to a person."""

    name: str
    score: str
    answer: str


@dataclass(frozen=True)
class Neighbor:
    """What somebody around a person does to that person."""

    node: str
    group: str
    change: str
    answer: str


@dataclass(frozen=True)
class Person:
    """One line of the table, and what unfolds below it."""

    node: str
    group: str
    label: str
    score: str
    answer: str
    flips: str
    score_change: str
    worlds: tuple[World, ...]
    neighbors: tuple[Neighbor, ...]


def affected_section(audit: Part) -> tuple[Person, ...]:
    """The people in the order in which they were recorded."""
    names = names_of(audit)
    return tuple(_person(row, names) for row in rows(audit, "affected"))


def _person(row: Part, names: Part) -> Person:
    worlds = mapping(row, "interventions")
    return Person(
        node=_node(row),
        group=group_name(row.get("sens"), names),
        label=class_name(row.get("y"), names),
        score=measure(number(row, "score")),
        answer=class_name(row.get("label"), names),
        flips=percent(number(row, "flip_share")),
        score_change=signed(number(row, "score_change")),
        worlds=tuple(_world(str(name), mapping(worlds, name)) for name in worlds),
        neighbors=tuple(_neighbor(neighbor, names) for neighbor in rows(row, "neighbors")),
    )


def _world(name: str, world: Part) -> World:
    return World(name, measure(number(world, "score")), _flip(world.get("flip")))


def _neighbor(row: Part, names: Part) -> Neighbor:
    return Neighbor(
        node=_node(row),
        group=group_name(row.get("sens"), names),
        change=signed(number(row, "change")),
        answer=_flip(row.get("flips")),
    )


def _flip(value: object) -> str:
    """Whether the answer changes, or in how many of the draws it does."""
    if value is None:
        return UNDEFINED
    if isinstance(value, bool) or value in (0, 1):
        return "changes" if value else "stays"
    return f"changes in {percent(value)} of draws" if isinstance(value, float) else UNDEFINED


def _node(row: Part) -> str:
    """An id is a name: no commas in it."""
    node = row.get("node_id")
    return "unnamed" if node is None else str(node)

"""People's lists before and after, and how often each group stands in lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fairgear.links.result import Exposure, LinkAudit, Lists, PersonLists, WorldList
from fairgear.metrics import Interval
from fairgear.report.charts import IntervalChart, Scale, dot, scale_over
from fairgear.report.numbers import group_words, measure, own_attribute, percent
from fairgear.report.sections.link_verdict import two_groups
from fairgear.report.world_words import world_words

# Worlds whose exposure is drawn: more would be a page of charts.
_CHARTS = 4


@dataclass(frozen=True)
class Entry:
    """Somebody in a list: name and group, and what to mark them with.

    Attributes:
        rank: place in the list.
        name, group: of the listed person.
        new: whether the list as it is does not have them.
        leaves: from how many of the other lists they are missing, in words; empty if from none.
    """

    rank: int
    name: str
    group: str
    new: bool = False
    leaves: str = ""


@dataclass(frozen=True)
class Column:
    """A list in one world.

    Attributes:
        title: the world in words.
        entries: best first.
        left: those who are in it no more.
        moved: how many entered.
    """

    title: str
    entries: tuple[Entry, ...]
    left: tuple[Entry, ...] = ()
    moved: int = 0


@dataclass(frozen=True)
class Person:
    """A person with their lists.

    Attributes:
        name, group: whose lists.
        summary: how many places change, in words.
        columns: the list as it is, then in other worlds.
    """

    name: str
    group: str
    summary: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class ListSection:
    """Everything about lists.

    Attributes:
        k: places of a list.
        people: those with their lists in full.
        changes: mean change by world.
        exposure: of each group, by world.
        rows: the same as a table: world, group, candidates, places, relative, interval.
        asked: how many people's lists were compared.
    """

    k: int
    people: tuple[Person, ...]
    changes: IntervalChart | None
    exposure: tuple[IntervalChart, ...]
    rows: tuple[tuple[str, ...], ...]
    asked: int


def list_section(audit: LinkAudit, lists: Lists) -> ListSection:
    """What the page shows of lists."""
    worlds = dict.fromkeys(row.intervention for row in lists.exposure)
    scale = scale_over([(1.0, lists.exposure[0].interval)] if lists.exposure else [])
    if lists.exposure:
        scale = scale_over([(row.relative, row.interval) for row in lists.exposure])
    return ListSection(
        k=audit.setup.k,
        people=tuple(_person(audit, one) for one in lists.people),
        changes=_changes(audit, lists),
        exposure=tuple(_exposure(audit, lists, world, scale) for world in list(worlds)[:_CHARTS]),
        rows=tuple(_row(audit, one) for one in lists.exposure),
        asked=audit.setup.list_people,
    )


def worlds_words(audit: LinkAudit, intervention: str) -> str:
    """An intervention of an audit of links in words."""
    names = audit.names
    fixed = {
        "factual": "as it is",
        "self": own_attribute(names, "only their own"),
        "either end": own_attribute(names, "one end’s"),
        "both ends": own_attribute(names, "both ends’"),
        "neighbours": own_attribute(names, "everybody else’s"),
    }
    known = fixed.get(intervention)
    return known or world_words(intervention, names, two_groups=two_groups(audit))


def _person(audit: LinkAudit, one: PersonLists) -> Person:
    gone = Counter(who.person for world in one.worlds for who in world.left)
    factual = tuple(
        Entry(
            rank,
            str(who.person),
            group_words(who.group, audit.names),
            leaves=_leaves(gone[who.person], len(one.worlds)),
        )
        for rank, who in enumerate(one.factual, start=1)
    )
    columns = (Column("As it is", factual), *(_column(audit, world) for world in one.worlds))
    places = audit.setup.k * one.change
    own = next((world for world in one.worlds if world.intervention == "self"), None)
    said = f"{places:.1f} of {audit.setup.k} are others in other worlds, on average"
    if own is not None and len(one.worlds) == 1:
        said = f"{len(own.entered)} of {audit.setup.k} are others"
    return Person(str(one.person), group_words(one.group, audit.names), said, columns)


def _leaves(count: int, worlds: int) -> str:
    if not count:
        return ""
    return "leaves" if count == worlds else f"leaves {count} of {worlds}"


def _column(audit: LinkAudit, world: WorldList) -> Column:
    entered = set(world.entered)
    entries = tuple(
        Entry(rank, str(who.person), group_words(who.group, audit.names), who.person in entered)
        for rank, who in enumerate(world.listed, start=1)
    )
    left = tuple(
        Entry(0, str(who.person), group_words(who.group, audit.names)) for who in world.left
    )
    title = worlds_words(audit, world.intervention)
    return Column(title[:1].upper() + title[1:], entries, left, len(entered))


def _changes(audit: LinkAudit, lists: Lists) -> IntervalChart | None:
    if not lists.changes:
        return None
    scale = Scale(0.0, 1.0, 0.25)
    dots = tuple(
        dot(
            scale,
            worlds_words(audit, row.intervention),
            "strict",
            row.change,
            row.interval,
            [("people", f"{row.people:,}"), ("worlds", f"{row.draws:,}")],
            percent,
        )
        for row in lists.changes
    )
    return IntervalChart("Share of a list’s places that somebody else takes", scale.ticks(), dots)


def _exposure(audit: LinkAudit, lists: Lists, world: str, scale: Scale) -> IntervalChart:
    rows = [row for row in lists.exposure if row.intervention == world]
    dots = tuple(
        dot(
            scale,
            group_words(row.group, audit.names),
            f"group{row.group}" if row.group < 2 else "other",
            row.relative,
            row.interval,
            list(_facts(row)),
        )
        for row in rows
    )
    title = worlds_words(audit, world)
    return IntervalChart(title[:1].upper() + title[1:], scale.ticks(), dots, scale.at(1.0))


def _facts(row: Exposure) -> Iterator[tuple[str, str]]:
    yield "of those who could be listed", percent(row.candidates)
    yield "of the places", percent(row.share)
    yield "relative, higher places counting more", measure(row.relative_weighted)


def _row(audit: LinkAudit, row: Exposure) -> tuple[str, ...]:
    ends: Interval = row.interval
    between = f"{measure(ends.low)} to {measure(ends.high)}" if ends.defined else ""
    return (
        worlds_words(audit, row.intervention),
        group_words(row.group, audit.names),
        percent(row.candidates),
        percent(row.share),
        measure(row.relative),
        between,
        measure(row.relative_weighted),
    )

"""Where the members of a person's surroundings stand when they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairgear.auditing.what_if import ExplainedPerson

# The person is in the middle, the others on rings around: one ring holds so many names.
_PER_RING, _RINGS = 14, (100, 70, 44)


def positions(person: ExplainedPerson) -> list[tuple[int, int]]:
    """Of each member, in hundredths of the outer ring; the same in every world.

    Members who are linked to each other in any world stand side by side where that is possible, and
    so do members of a group, so that few lines cross.
    """
    order = _around(person)
    rings = min(len(_RINGS), math.ceil(len(order) / _PER_RING))
    found = [(0, 0)] * len(person.members)
    # Nobody straight below, where the person's name is.
    count = len(order)
    first = 0.0 if count == 1 else math.pi * (-0.5 + (count % 2 == 0) / max(count, 1))
    for place, member in enumerate(order):
        angle = first + 2 * math.pi * place / count
        radius = _RINGS[place % rings]
        found[member] = (round(radius * math.cos(angle)), round(radius * math.sin(angle)))
    return found


def _around(person: ExplainedPerson) -> list[int]:
    """The members but the person, each followed by the one with most in common."""
    linked: list[set[int]] = [set() for _ in person.members]
    every: list[Sequence[Sequence[int]]] = [person.edges]
    for links in person.links:
        every += [links.gone, links.new]
    for a, b in (pair for pairs in every for pair in pairs):
        linked[a].add(b)
        linked[b].add(a)
    left = list(range(1, len(person.members)))
    order: list[int] = []
    while left:
        last = order[-1] if order else 0

        def likeness(member: int, last: int = last) -> tuple[bool, bool, int, int]:
            alike = person.members[member].sens == person.members[last].sens
            return member in linked[last], alike, len(linked[member] & linked[last]), -member

        order.append(max(left, key=likeness))
        left.remove(order[-1])
    return order

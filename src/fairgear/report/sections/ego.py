"""Where the members of a person's surroundings stand when they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairgear.auditing.what_if import ExplainedPerson

# The person is in the middle, the others on rings around: one ring holds so many names.
_PER_RING, _RINGS = 14, (100, 70, 44)
# Those who are not linked to the person but under other causal models stand further out.
_INNER, _OUTER = (72, 48), (100,)


def positions(person: ExplainedPerson) -> list[tuple[int, int]]:
    """Of each member, in hundredths of the outer ring; the same in every world.

    Members who are linked to each other in any world stand side by side where that is possible, and
    so do members of a group, so that few lines cross.
    """
    found = [(0, 0)] * len(person.members)
    order, near = _around(person), _near(person)
    inner, outer = ([at for at in order if (at in near) == side] for side in (True, False))
    if not (inner and outer):
        found = _placed(found, order, _RINGS)
    else:
        found = _placed(_placed(found, inner, _INNER), outer, _OUTER)
    return found


def _placed(
    found: list[tuple[int, int]], order: Sequence[int], rings: Sequence[int]
) -> list[tuple[int, int]]:
    """With these members on rings, on as many as they need, one after the other."""
    found, count = list(found), len(order)
    needed = min(len(rings), math.ceil(count / _PER_RING))
    # Nobody straight below, where the person's name is.
    first = 0.0 if count == 1 else math.pi * (-0.5 + (count % 2 == 0) / max(count, 1))
    for place, member in enumerate(order):
        angle = first + 2 * math.pi * place / count
        radius = rings[place % needed]
        found[member] = (round(radius * math.cos(angle)), round(radius * math.sin(angle)))
    return found


def _near(person: ExplainedPerson) -> set[int]:
    """Those linked to the person as it is, or under the audit's own causal model."""
    states = [one for one in person.states if one.model == one.dose == 0]
    pairs = [*person.edges, *(pair for one in states for pair in person.links[one.links].new)]
    return {place for pair in pairs if 0 in pair for place in pair}


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

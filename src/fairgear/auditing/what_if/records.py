"""What some people would get in other worlds: what the page's explorer shows, and why.

Everything is stored once and referred to by its place, so that sixty people in sixty worlds each
stay small.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of the data as people know it.

    Attributes:
        name: in the data.
        low, high: the ends of a number among all people, for bars; NaN of words.
        levels: the words of a column that holds some; empty for numbers.
    """

    name: str
    low: float
    high: float
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Member:
    """Somebody in a person's surroundings.

    Attributes:
        node_id: theirs; their name where ids are not whole numbers.
        sens: group, or number, on the factual graph.
        links: how many links they have there.
        guessed: their attribute is unknown, and `sens` a guess.
    """

    node_id: int | str
    sens: int | float
    links: int
    guessed: bool = False


@dataclass(frozen=True)
class Links:
    """How a world's links between the members of a person's surroundings differ.

    Attributes:
        gone, new: pairs of places in `ExplainedPerson.members`; (from, to) in a directed graph. A
            link whose weight alone changes is in neither.
    """

    gone: tuple[tuple[int, ...], ...]
    new: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class State:
    """One person in one world. Every number was computed by running the model there.

    Attributes:
        own: place in `WhatIf.own` of the person's value; −1 as it is, also for the value that they
            have.
        others: place in `WhatIf.others`.
        model: place in `WhatIf.models`.
        dose: place in `WhatIf.doses`.
        score: of label 1; of several classes that of the factual answer; a number's prediction.
        label: what the model says at its own threshold.
        features, links, attributes: places in the person's lists of the same names.
    """

    own: int
    others: int
    model: int
    dose: int
    score: float
    label: int | float
    features: int
    links: int
    attributes: int


@dataclass(frozen=True)
class Part:
    """One thing that moves between two worlds.

    Attributes:
        kind: "feature" (a column, or the sensitive attribute itself), "gone", "new" or "weight" (a
            link of the person), or "around" (what changes for other people).
        name: the column or attribute, or the other end of the link; empty of "around".
        before, after: the values of a column, or the weights of a link, as words; else empty.
    """

    kind: str
    name: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Why:
    """The smallest set of parts that accounts for a person's other answer.

    Attributes:
        parts: with these alone moved, the answer is the other one.
        score: with these alone moved.
        exact: whether every smaller set was tried; otherwise one was found step by step.
        moved: how many parts move in that world.
        own: place in `WhatIf.own` of the value that the person has in that world.
    """

    parts: tuple[Part, ...]
    score: float
    exact: bool
    moved: int
    own: int = 0


@dataclass(frozen=True)
class ExplainedPerson:
    """A person, their surroundings, and every world in which the model was asked about them.

    Attributes:
        node_id: the person's; their name where ids are not whole numbers.
        chosen: "affected", or "random" for one of a random sample.
        y: label, −1 where unknown; a number, NaN where unknown.
        members: the person first, then those linked to them as it is or in a world in which their
            own value alone is another. First come those whose links with the person differ in such
            a world of the audit's own causal model and dose 1, then other neighbours, then the
            rest; among each, those with the fewest links.
        hidden: how many of the latter are not among the members, for there are too many.
        edges: pairs of places in `members` that are linked on the factual graph.
        features: rows of values by column, the factual one first; of words the place of the level.
        links: how links differ, the factual one (no difference) first.
        attributes: the members' groups or numbers, the factual ones first.
        states: the factual one first, which is also the one in which nothing is set under any
            model and dose.
        why: what accounts for another answer when their own value alone is another; None where
            the answer stays or this was not examined.
    """

    node_id: int | str
    chosen: str
    y: int | float
    members: tuple[Member, ...]
    hidden: int
    edges: tuple[tuple[int, ...], ...]
    features: tuple[tuple[float, ...], ...]
    links: tuple[Links, ...]
    attributes: tuple[tuple[float, ...], ...]
    states: tuple[State, ...]
    why: Why | None = None


@dataclass(frozen=True)
class WhatIf:
    """Some people in other worlds.

    Attributes:
        columns: of the data.
        own: names of the values that a person's own attribute is set to, in the words of the data.
        others: what the others have: the first is "as they are".
        models: names of causal models; the first is that of the audit.
        doses: shares of the difference that the attribute causes; the first is 1.
        people: the most affected, then a random sample.
        notes: what could not be computed, and why.
        directed: whether links have a direction.
    """

    columns: tuple[Column, ...]
    own: tuple[str, ...]
    others: tuple[str, ...]
    models: tuple[str, ...]
    doses: tuple[float, ...]
    people: tuple[ExplainedPerson, ...]
    notes: tuple[str, ...] = ()
    directed: bool = False

"""What the explorer calls people's groups, numbers and answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairgear.auditing import Audit
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.metrics.disagreement import TOLERANCE
from fairgear.report import numbers

# Of a number that moves, but not far enough to count as another.
TOO_LITTLE = "moves too little to count"


def told(audit: Audit, value: float, *, guessed: bool) -> str:
    """Somebody's group or number; where it was guessed, that it was."""
    known = group(audit, value)
    if not guessed or known == "unknown":
        return known
    return f"{taken_as(audit)} {numbers.plain(rounded(value)) if audit.names.number else known}"


def taken_as(audit: Audit) -> str:
    """What stands before a group or number that was guessed."""
    return f"{numbers.attribute_name(audit.names).removeprefix('the ')} unknown, taken as"


def group(audit: Audit, value: float) -> str:
    """A group, or a number after what it is of."""
    if not math.isfinite(value) or (value < 0 and not audit.names.number):
        return "unknown"
    if audit.names.number:
        return f"{audit.names.number} {numbers.plain(rounded(value))}"
    return numbers.group_words(int(value), audit.names)


def set_to(audit: Audit, text: str) -> str:
    """What somebody is set to; of a group without a name the number, after the attribute's name."""
    named = audit.names.groups or audit.names.number
    return text if named else text.replace("group ", "")


def value(audit: Audit, what_if: WhatIf, person: ExplainedPerson, state: State) -> str:
    """What their own value is in a state in which it is another."""
    if audit.names.number:
        return numbers.plain(rounded(person.attributes[state.attributes][0]))
    return set_to(audit, what_if.own[state.own])


def answer(audit: Audit, label: float) -> str:
    """A class by its name, or a number."""
    if audit.target.is_number:
        return numbers.plain(float(label))
    known = audit.names.classes
    return known[int(label)] if int(label) < len(known) else f"answer {int(label)}"


def counts(audit: Audit) -> float | None:
    """How far a number must move to count as another; None of classes."""
    return TOLERANCE * audit.target.sd if audit.target.is_number else None


def is_another(audit: Audit, factual: State, state: State) -> bool:
    """Whether the answer is another, as the audit counts it."""
    least = counts(audit)
    if least is None:
        return state.label != factual.label
    return abs(state.label - factual.label) > least


def moves(factual: State, states: Sequence[State]) -> bool:
    """Whether the answer is not the very same in some of these."""
    return any(state.label != factual.label for state in states)


def alone(person: ExplainedPerson) -> list[State]:
    """The states in which nothing but their own value is another, under the audit's own model."""
    return [
        state
        for state in person.states
        if state.own >= 0 and state.others == state.model == state.dose == 0
    ]


def rounded(value: float) -> float:
    """What is shown of a number: four digits, and all those before the point."""
    if not math.isfinite(value):
        return value
    short = float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def answer_word(audit: Audit) -> str:
    """What an answer is called."""
    return "prediction" if audit.target.is_number else "answer"

"""The what-if explorer: some people in every world in which the model was asked about them.

Everything that the page's script shows is decided here: words, figures and places in the drawings.
The script picks; it computes nothing but which side of a threshold a score is on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from fairgear.auditing import Audit
from fairgear.auditing.affected import Affected
from fairgear.auditing.what_if import Column, ExplainedPerson, Part, State, WhatIf, Why
from fairgear.report import numbers
from fairgear.report.sections.ego import positions
from fairgear.report.text import visible

# Values of one control that stand side by side; more are a list that unfolds.
_SIDE_BY_SIDE = 6
# Values of their own that the table names for a person.
_NAMED = 6
_KINDS = {"affected": "most affected", "random": "random sample"}


@dataclass(frozen=True)
class Choice:
    """What a control may be set to: the place that states refer to, and its name."""

    value: int
    text: str


@dataclass(frozen=True)
class Control:
    """One thing of a world that the reader sets.

    Attributes:
        name: of the field of `State`.
        title: in words.
        choices: in the order of the records.
        only: what is said in place of a control that has one value.
    """

    name: str
    title: str
    choices: tuple[Choice, ...]
    only: str

    @property
    def side_by_side(self) -> bool:
        """Whether all values are shown at once."""
        return len(self.choices) <= _SIDE_BY_SIDE


@dataclass(frozen=True)
class Listed:
    """A person in the list and in the table that stands where no script runs.

    Attributes:
        place: among all of them.
        name: theirs.
        kind: why they are among these people.
        group: theirs, or their number; where unknown, what it was taken as.
        known: what is true of them, "unknown" where it is not known.
        answer, score: as it is.
        change: what becomes of the answer when their own value alone is another.
        others: answer and score with other values of their own.
    """

    place: int
    name: str
    kind: str
    group: str
    known: str
    answer: str
    score: str
    change: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Explorer:
    """The section on single people.

    Attributes:
        people: in the order of the data.
        controls: own value, other people, causal model and dose.
        threshold: the model's own; none where answers are not of two classes.
        notes: what could not be computed, and why.
        data: for the script.
    """

    people: tuple[Listed, ...]
    controls: tuple[Control, ...]
    threshold: str | None
    notes: tuple[str, ...]
    data: Markup


def explorer_section(audit: Audit, what_if: WhatIf) -> Explorer:
    """The explorer of an audit that looked at single people."""
    controls = _controls(audit, what_if)
    guessed = _guessed(audit)
    people = tuple(
        _listed(audit, what_if, place, person, guessed)
        for place, person in enumerate(what_if.people)
    )
    threshold = audit.model.threshold
    return Explorer(
        people,
        controls,
        numbers.measure(threshold) if math.isfinite(threshold) else None,
        what_if.notes,
        _script_data(_data(audit, what_if, guessed)),
    )


def _guessed(audit: Audit) -> frozenset[str]:
    """Ids of the audited people whose own attribute is unknown, and was guessed."""
    people = audit.people
    if "sens_known" not in people:
        return frozenset()
    ids = people["node_name" if "node_name" in people else "node_id"]
    return frozenset(map(str, ids[~people["sens_known"].to_numpy(dtype=np.bool_)]))


def _controls(audit: Audit, what_if: WhatIf) -> tuple[Control, ...]:
    own = (Choice(-1, "as it is"), *map(Choice, range(len(what_if.own)), what_if.own))
    models = ("this audit’s own", *what_if.models[1:])
    doses = [f"{numbers.plain(100 * dose)} %" for dose in what_if.doses]
    attribute = numbers.own_attribute(audit.names, "Their own")
    kinds = (
        ("own", attribute, own),
        ("others", numbers.own_attribute(audit.names, "Their neighbours’"), what_if.others),
        ("model", "Causal model", models),
        ("dose", "Share of the difference that the attribute causes", doses),
    )
    return tuple(_control(name, title, choices) for name, title, choices in kinds)


def _control(name: str, title: str, choices: Sequence[Choice | str]) -> Control:
    every = tuple(
        one if isinstance(one, Choice) else Choice(place, one) for place, one in enumerate(choices)
    )
    only = f"Only “{every[0].text}” was computed." if every else "Nothing was computed."
    return Control(name, title, every, only)


def _listed(
    audit: Audit,
    what_if: WhatIf,
    place: int,
    person: ExplainedPerson,
    guessed: frozenset[str],
) -> Listed:
    factual = person.states[0]
    alone = _alone(person)
    flips = [state for state in alone if state.label != factual.label]
    answer = _answer(audit, factual.label)
    if not alone:
        change = "not computed"
    elif flips and not audit.target.is_number:
        change = f"→ {_answer(audit, flips[0].label)}"
    else:
        change = "moves" if flips else "stays"
    # Those whose answer changes are not the ones to leave out.
    order = sorted(alone, key=lambda state: (state.label == factual.label, state.own))
    named = sorted(order[:_NAMED], key=lambda state: state.own)
    others = [
        f"{_value(audit, what_if, person, state)}: {_answer(audit, state.label)}"
        + ("" if audit.target.is_number else f", {numbers.measure(state.score)}")
        for state in named
    ]
    left = len(alone) - len(named)
    return Listed(
        place=place,
        name=str(visible(str(person.node_id))),
        kind=_KINDS.get(person.chosen, person.chosen),
        group=_told(audit, person.node_id, person.attributes[0][0], guessed),
        known=numbers.class_name(person.y, audit.names),
        answer=answer,
        score=numbers.measure(factual.score),
        change=change,
        others=(*others, *([f"and {left} more"] if left else [])),
    )


def _value(audit: Audit, what_if: WhatIf, person: ExplainedPerson, state: State) -> str:
    """What their own value is in a state in which it is another."""
    if audit.names.number:
        return numbers.plain(_rounded(person.attributes[state.attributes][0]))
    return what_if.own[state.own]


def _alone(person: ExplainedPerson) -> list[State]:
    """The states in which nothing but their own value is another, under the audit's own model."""
    return [
        state
        for state in person.states
        if state.own >= 0 and state.others == state.model == state.dose == 0
    ]


def _answer(audit: Audit, label: float) -> str:
    if audit.target.is_number:
        return numbers.plain(float(label))
    known = audit.names.classes
    return known[int(label)] if int(label) < len(known) else f"answer {int(label)}"


def _group(audit: Audit, value: float) -> str:
    if not math.isfinite(value) or (value < 0 and not audit.names.number):
        return "unknown"
    known = numbers.attribute(_rounded(value), audit.names)
    return f"{audit.names.number} {known}" if audit.names.number else known


def _told(audit: Audit, node_id: int | str, value: float, guessed: frozenset[str]) -> str:
    """Somebody's group or number; where it was guessed, that it was."""
    known = _group(audit, value)
    if str(node_id) not in guessed or known == "unknown":
        return known
    return f"{_taken_as(audit)} {numbers.attribute(_rounded(value), audit.names)}"


def _taken_as(audit: Audit) -> str:
    return f"{numbers.attribute_name(audit.names).removeprefix('the ')} unknown, taken as"


def _data(audit: Audit, what_if: WhatIf, guessed: frozenset[str]) -> dict[str, Any]:
    affected = {str(person.node_id): person for person in audit.affected}
    scores = [s.score for person in what_if.people for s in person.states]
    binary = audit.target.is_binary
    number = bool(audit.names.number)
    groups = 0 if number else 1 + max((int(v) for v in _values(what_if)), default=0)
    labels = [int(s.label) for person in what_if.people for s in person.states if s.label >= 0]
    classes = 0 if audit.target.is_number else 1 + max(labels, default=0)
    reach = [_rounded(value) for value in _values(what_if)] if number else []
    own = numbers.own_attribute(audit.names, "their own")
    return {
        "kind": audit.target.kind,
        "directed": what_if.directed,
        "columns": [_column(column) for column in what_if.columns],
        "groups": [_group(audit, group) for group in range(groups)],
        "reach": [min(reach), max(reach)] if reach else None,
        "answers": [_answer(audit, label) for label in range(max(classes, 2 if binary else 0))],
        # What is predicted, before the answer: "approved: yes".
        "asked": f"{visible(audit.names.label)}: " if audit.names.label else "",
        "taken": _taken_as(audit),
        "unit": f"{audit.names.number} " if number else "",
        "were": f"if {own} were",
        "own": list(what_if.own),
        "others": [f"neighbours: {text}" for text in what_if.others],
        "models": [f"causal model: {name}" for name in what_if.models],
        "doses": [f"{numbers.plain(100 * dose)} % of the difference" for dose in what_if.doses],
        "cut": _cut(audit.model.threshold, scores),
        "people": [
            _person(audit, what_if, person, affected.get(str(person.node_id)), guessed)
            for person in what_if.people
        ],
    }


def _values(what_if: WhatIf) -> list[float]:
    """Every group or number that somebody has in some world, as far as it is known."""
    rows = (row for person in what_if.people for row in person.attributes)
    return [value for row in rows for value in row if math.isfinite(value)]


def _column(column: Column) -> list[Any]:
    ends = [_cell(end) for end in (column.low, column.high)]
    return [column.name, *ends, *([list(column.levels)] if column.levels else [])]


def _cut(threshold: float, scores: Sequence[float]) -> list[float] | None:
    """The model's own threshold, and the ends and the step of the range to try others in.

    The range covers every score that was computed here, in steps that tell them apart. None where
    there is no threshold, as with several classes and numbers.
    """
    if not math.isfinite(threshold):
        return None
    known = [threshold, *(score for score in scores if math.isfinite(score))]
    step = 10.0 ** math.floor(math.log10(max(max(known) - min(known), 1e-6) / 20))
    digits = max(0, -math.floor(math.log10(step)))
    low, high = math.floor(min(known) / step) * step, math.ceil(max(known) / step) * step
    return [threshold, round(low, digits), round(high, digits), round(step, digits)]


def _person(
    audit: Audit,
    what_if: WhatIf,
    person: ExplainedPerson,
    affected: Affected | None,
    guessed: frozenset[str],
) -> dict[str, Any]:
    first, *rest = ([_cell(value) for value in row] for row in person.features)
    return {
        "id": str(person.node_id),
        "known": _known(audit, person),
        "theirs": _theirs(audit, what_if, person),
        "members": [
            [str(member.node_id), x, y, member.links, int(str(member.node_id) in guessed)]
            for member, (x, y) in zip(person.members, positions(person), strict=True)
        ],
        "hidden": person.hidden,
        "edges": _flat(person.edges),
        "features": [first, *(_moved(first, row) for row in rest)],
        "links": [[_flat(links.gone), _flat(links.new)] for links in person.links],
        "attributes": [[_cell(value) for value in row] for row in person.attributes],
        "states": [
            [
                *(s.own, s.others, s.model, s.dose, _score(s.score), _cell(s.label)),
                *(s.features, s.links, s.attributes),
            ]
            for s in person.states
        ],
        "why": _why(audit, what_if, person),
        "neighbors": _neighbors(audit, affected, guessed),
    }


def _known(audit: Audit, person: ExplainedPerson) -> str:
    what = "value" if audit.target.is_number else "class"
    known = numbers.class_name(person.y, audit.names)
    return f"Their {what} is unknown." if known == "unknown" else f"Their known {what}: {known}."


def _theirs(audit: Audit, what_if: WhatIf, person: ExplainedPerson) -> list[int]:
    """Places in `WhatIf.own` of the value that the person has: as it is, and so not stored."""
    value = person.attributes[0][0]
    words = {_group(audit, value), f"{value:.6g}"}
    asked = {state.own for state in person.states}
    left = [at for at in range(len(what_if.own)) if at not in asked]
    if len(left) == 1 and not audit.names.number:
        return left
    return [at for at in left if what_if.own[at] in words]


def _flat(pairs: Sequence[Sequence[int]]) -> list[int]:
    return [place for pair in pairs for place in pair]


def _moved(before: Sequence[float | None], after: Sequence[float | None]) -> list[Any]:
    """Column and value of what differs, one after the other."""
    pairs = enumerate(zip(before, after, strict=True))
    return [item for place, (old, new) in pairs if old != new for item in (place, new)]


def _cell(value: float) -> float | None:
    return _rounded(value) if math.isfinite(value) else None


def _rounded(value: float) -> float:
    """What is shown of a number: four digits, and all those before the point."""
    if not math.isfinite(value):
        return value
    short = float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def _score(value: float) -> float | None:
    """Nine digits tell all numbers of single precision apart."""
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _why(audit: Audit, what_if: WhatIf, person: ExplainedPerson) -> list[str]:
    """What accounts for the other answer, in sentences."""
    factual, alone = person.states[0], _alone(person)
    if person.why is not None:
        return _account(audit, what_if, person, person.why)
    if not alone:
        return ["Nothing was computed with another value of their own alone."]
    if all(state.label == factual.label for state in alone):
        return ["The answer stays when their own value alone is another: nothing to account for."]
    return ["What accounts for the other answer was not examined for this person."]


def _account(audit: Audit, what_if: WhatIf, person: ExplainedPerson, why: Why) -> list[str]:
    figures = {column.name for column in what_if.columns if not column.levels}
    said = [_part(part, number=part.name in figures) for part in why.parts]
    parts = "; ".join(said) or "nothing but the value itself"
    many, moved = len(why.parts), why.moved
    moving = "the one thing that moves" if moved == 1 else f"{many} of the {moved} things that move"
    exact = (
        "Every smaller set was tried, and none is enough."
        if why.exact
        else "It was found step by step: a smaller set may exist."
    )
    state = next(state for state in _alone(person) if state.own == why.own)
    own = numbers.own_attribute(audit.names, "their own")
    return [
        f"If only {own} were {_value(audit, what_if, person, state)}, "
        f"{moving} {'is' if many == 1 else 'are'} enough for the other answer: {parts}.",
        f"With {'that' if many == 1 else 'these'} alone the score is {numbers.measure(why.score)}. "
        f"{exact}",
    ]


def _figure(text: str) -> str:
    """A number of a column as the table beside has it; words that stand for none stay."""
    try:
        return numbers.plain(_rounded(float(text)))
    except ValueError:
        return text


def _part(part: Part, *, number: bool) -> str:
    """One thing that moves, as it ends a sentence."""
    ends = [part.before, part.after]
    if number and part.kind == "feature":
        ends = [_figure(end) for end in ends]
    fixed = {
        "feature": f"{part.name} from {ends[0]} to {ends[1]}",
        "gone": f"the link with {part.name} goes",
        "new": f"a new link with {part.name}",
        "weight": f"the weight of the link with {part.name} from {part.before} to {part.after}",
    }
    return fixed.get(part.kind, part.name or "what changes for other people")


def _neighbors(
    audit: Audit, affected: Affected | None, guessed: frozenset[str]
) -> list[str]:
    """The neighbours that matter, in words; none where they were not examined."""
    if affected is None:
        return []
    if audit.names.number:
        other = "had another value"
    else:
        other = "were in the other group" if audit.two_groups else "were in another group"
    return [
        f"{one.node_id} ({_told(audit, one.node_id, one.sens, guessed)}): if they alone {other}, the score would change "
        f"by {numbers.signed(one.change)} and the answer would {'change' if one.flips else 'stay'}."
        for one in affected.neighbors
    ]


def _script_data(data: dict[str, Any]) -> Markup:
    """JSON that no name in it can end: the element's own end, and lines, are written as escapes."""
    text = json.dumps(_shown(data), separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _shown(value: Any) -> Any:
    """The same with every name as a page may show it."""
    if isinstance(value, dict):
        return {key: _shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    return visible(value)

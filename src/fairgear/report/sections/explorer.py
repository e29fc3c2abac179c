"""The what-if explorer: some people in every world in which the model was asked about them.

Everything that the page's script shows is decided here: words, figures and places in the drawings.
The script picks; it computes nothing but which side of a threshold a score is on, and how far a
number moves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fairgear.auditing import Audit
from fairgear.auditing.affected import Affected
from fairgear.auditing.what_if import Column, ExplainedPerson, WhatIf
from fairgear.report import numbers
from fairgear.report.sections import person_words as words
from fairgear.report.sections import reasons
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
    people = tuple(
        _listed(audit, what_if, place, person) for place, person in enumerate(what_if.people)
    )
    threshold = audit.model.threshold
    return Explorer(
        people,
        controls,
        numbers.measure(threshold) if math.isfinite(threshold) else None,
        what_if.notes,
        _script_data(_data(audit, what_if)),
    )


def _controls(audit: Audit, what_if: WhatIf) -> tuple[Control, ...]:
    named = [words.set_to(audit, text) for text in what_if.own]
    own = (Choice(-1, "as it is"), *map(Choice, range(len(named)), named))
    others = [words.set_to(audit, text) for text in what_if.others]
    doses = [f"{numbers.plain(100 * dose)} %" for dose in what_if.doses]
    attribute = numbers.own_attribute(audit.names, "Their own")
    kinds = (
        ("own", attribute, own),
        ("others", numbers.own_attribute(audit.names, "Their neighbours’"), others),
        ("model", "Causal model", _models(audit, what_if)),
        ("dose", "Share of the difference that the attribute causes", doses),
    )
    return tuple(_control(name, title, choices) for name, title, choices in kinds)


def _models(audit: Audit, what_if: WhatIf) -> list[str]:
    """The causal models, and of which the audit found that they are not credible."""
    rows = audit.causal_models.rows if audit.causal_models is not None else ()
    doubtful = {row.model for row in rows if not (row.part or row.credible)}
    names = ("this audit’s own", *what_if.models[1:])
    return [
        f"{name}, not credible" if known in doubtful else name
        for name, known in zip(names, what_if.models, strict=True)
    ]


def _control(name: str, title: str, choices: Sequence[Choice | str]) -> Control:
    every = tuple(
        one if isinstance(one, Choice) else Choice(place, one) for place, one in enumerate(choices)
    )
    only = f"Only “{every[0].text}” was computed." if every else "Nothing was computed."
    return Control(name, title, every, only)


def _listed(audit: Audit, what_if: WhatIf, place: int, person: ExplainedPerson) -> Listed:
    factual = person.states[0]
    alone = words.alone(person)
    flips = [state for state in alone if words.is_another(audit, factual, state)]
    answer = words.answer(audit, factual.label)
    if not alone:
        change = "not computed"
    elif flips:
        change = f"→ {words.answer(audit, flips[0].label)}"
    else:
        change = words.TOO_LITTLE if words.moves(factual, alone) else "stays"
    # Those whose answer changes are not the ones to leave out.
    order = sorted(alone, key=lambda state: (state not in flips, state.own))
    named = sorted(order[:_NAMED], key=lambda state: state.own)
    others = []
    for state in named:
        other = f"{words.value(audit, what_if, person, state)}: {words.answer(audit, state.label)}"
        if not audit.target.is_number:
            other += f", {numbers.measure(state.score)}"
        elif state not in flips and words.moves(factual, [state]):
            other += f", {words.TOO_LITTLE}"
        others.append(other)
    left = len(alone) - len(named)
    return Listed(
        place=place,
        name=str(visible(str(person.node_id))),
        kind=_KINDS.get(person.chosen, person.chosen),
        group=words.told(audit, person.attributes[0][0], guessed=person.members[0].guessed),
        known=numbers.class_name(person.y, audit.names),
        answer=answer,
        score=numbers.measure(factual.score),
        change=change,
        others=(*others, *([f"and {left} more"] if left else [])),
    )


def _data(audit: Audit, what_if: WhatIf) -> dict[str, Any]:
    affected = {str(person.node_id): person for person in audit.affected}
    scores = [s.score for person in what_if.people for s in person.states]
    binary = audit.target.is_binary
    number = bool(audit.names.number)
    groups = 0 if number else 1 + max((int(v) for v in _values(what_if)), default=0)
    labels = [int(s.label) for person in what_if.people for s in person.states if s.label >= 0]
    classes = 0 if audit.target.is_number else 1 + max(labels, default=0)
    reach = [words.rounded(value) for value in _values(what_if)] if number else []
    own = numbers.own_attribute(audit.names, "their own")
    return {
        "kind": audit.target.kind,
        "directed": what_if.directed,
        "columns": [_column(column) for column in what_if.columns],
        "groups": [words.group(audit, group) for group in range(groups)],
        "reach": [min(reach), max(reach)] if reach else None,
        "answers": [
            words.answer(audit, label) for label in range(max(classes, 2 if binary else 0))
        ],
        # What is predicted, before the answer: "approved: yes".
        "asked": f"{visible(audit.names.label)}: " if audit.names.label else "",
        "taken": words.taken_as(audit),
        "unit": f"{audit.names.number} " if number else "",
        "were": f"if {own} were",
        "own": [words.set_to(audit, text) for text in what_if.own],
        "others": [f"neighbours: {words.set_to(audit, text)}" for text in what_if.others],
        "models": [f"causal model: {name}" for name in _models(audit, what_if)],
        "doses": [f"{numbers.plain(100 * dose)} % of the difference" for dose in what_if.doses],
        # A number that moves by no more counts as the same; none of classes.
        "counts": words.counts(audit),
        "cut": _cut(audit.model.threshold, scores),
        "people": [
            _person(audit, what_if, person, affected.get(str(person.node_id)))
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
    audit: Audit, what_if: WhatIf, person: ExplainedPerson, affected: Affected | None
) -> dict[str, Any]:
    near = reasons.neighbors(audit, affected)
    first, *rest = ([_cell(value) for value in row] for row in person.features)
    return {
        "id": str(person.node_id),
        "known": _known(audit, person),
        "theirs": _theirs(audit, what_if, person),
        "members": [
            [str(member.node_id), x, y, member.links, int(member.guessed)]
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
        "why": reasons.why(audit, what_if, person),
        "neighbors": near,
        "nobody": reasons.nobody(audit, person, affected) if not near else "",
    }


def _known(audit: Audit, person: ExplainedPerson) -> str:
    what = "value" if audit.target.is_number else "class"
    known = numbers.class_name(person.y, audit.names)
    return f"Their {what} is unknown." if known == "unknown" else f"Their known {what}: {known}."


def _theirs(audit: Audit, what_if: WhatIf, person: ExplainedPerson) -> list[int]:
    """Places in `WhatIf.own` of the value that the person has: as it is, and so not stored."""
    value = person.attributes[0][0]
    known = {words.group(audit, value), f"{value:.6g}", f"group {value:.6g}"}
    asked = {state.own for state in person.states}
    left = [at for at in range(len(what_if.own)) if at not in asked]
    if len(left) == 1 and not audit.names.number:
        return left
    return [at for at in left if what_if.own[at] in known]


def _flat(pairs: Sequence[Sequence[int]]) -> list[int]:
    return [place for pair in pairs for place in pair]


def _moved(before: Sequence[float | None], after: Sequence[float | None]) -> list[Any]:
    """Column and value of what differs, one after the other."""
    pairs = enumerate(zip(before, after, strict=True))
    return [item for place, (old, new) in pairs if old != new for item in (place, new)]


def _cell(value: float) -> float | None:
    return words.rounded(value) if math.isfinite(value) else None


def _score(value: float) -> float | None:
    """Nine digits tell all numbers of single precision apart."""
    return float(f"{value:.9g}") if math.isfinite(value) else None


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

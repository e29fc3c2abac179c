"""What accounts for somebody's answer in another world, in sentences."""

from __future__ import annotations

from fairgear.auditing import Audit
from fairgear.auditing.affected import EXAMINED, NOT_EXAMINED, Affected, Neighbor
from fairgear.auditing.what_if import ExplainedPerson, Part, WhatIf, Why
from fairgear.report import numbers
from fairgear.report.sections import person_words as words

_UNASKED = "Not examined."


def why(audit: Audit, what_if: WhatIf, person: ExplainedPerson) -> list[str]:
    """What accounts for the other answer, in sentences."""
    factual, alone = person.states[0], words.alone(person)
    if person.why is not None:
        return _account(audit, what_if, person, person.why)
    if not alone:
        return ["Nothing was computed with another value of their own alone."]
    answer = words.answer_word(audit)
    if any(words.is_another(audit, factual, state) for state in alone):
        return [f"What accounts for the other {answer} was not examined for this person."]
    stays = words.TOO_LITTLE if audit.target.is_number and words.moves(factual, alone) else "stays"
    return [f"The {answer} {stays} when their own value alone is another: nothing to account for."]


def _account(audit: Audit, what_if: WhatIf, person: ExplainedPerson, found: Why) -> list[str]:
    figures = {column.name for column in what_if.columns if not column.levels}
    said = [_part(part, number=part.name in figures) for part in found.parts]
    parts = "; ".join(said) or "nothing but the value itself"
    many, moved = len(found.parts), found.moved
    moving = "the one thing that moves" if moved == 1 else f"{many} of the {moved} things that move"
    exact = (
        "Every smaller set was tried, and none is enough."
        if found.exact
        else "It was found step by step: a smaller set may exist."
    )
    state = next(state for state in words.alone(person) if state.own == found.own)
    own = numbers.own_attribute(audit.names, "their own")
    if audit.target.is_number:
        becomes = f"the prediction is {numbers.plain(float(found.score))}"
    else:
        becomes = f"the score is {numbers.measure(found.score)}"
    return [
        f"If only {own} were {words.value(audit, what_if, person, state)}, "
        f"{moving} {'is' if many == 1 else 'are'} enough for the other {words.answer_word(audit)}: "
        f"{parts}.",
        f"With {'that' if many == 1 else 'these'} alone {becomes}. {exact}",
    ]


def _figure(text: str) -> str:
    """A number of a column as the table beside has it; words that stand for none stay."""
    try:
        return numbers.plain(words.rounded(float(text)))
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


def neighbors(audit: Audit, affected: Affected | None) -> list[str] | None:
    """The neighbours that matter, in words; None where they were not examined."""
    if affected is None or NOT_EXAMINED in audit.notes:
        return None
    if audit.names.number:
        other = "had another value"
    else:
        other = "were in the other group" if audit.two_groups else "were in another group"
    return [
        f"{one.node_id} ({words.told(audit, one.sens, guessed=one.guessed)}): "
        f"if they alone {other}, the {_moved_by(audit, one)}."
        for one in affected.neighbors
    ]


def nobody(audit: Audit, person: ExplainedPerson, affected: Affected | None) -> str:
    """Why no neighbour is named."""
    if NOT_EXAMINED in audit.notes:
        return "Not examined: it takes worlds that were not computed."
    if affected is None:
        many = len(audit.affected)
        whom = "person" if many == 1 else f"{many} people"
        return f"Not examined: this is done for the {whom} most affected." if many else _UNASKED
    what = "prediction" if audit.target.is_number else "score"
    if person.members[0].links > EXAMINED:
        few = f"the {EXAMINED} neighbours with the fewest links"
        return f"Examined: of {few}, none alone moves the {what}."
    return f"Examined: no neighbour alone moves the {what}."


def _moved_by(audit: Audit, one: Neighbor) -> str:
    change = numbers.signed(one.change)
    if not audit.target.is_number:
        becomes = "change" if one.flips else "stay"
        return f"score would change by {change} and the answer would {becomes}"
    counts = "which counts" if one.flips else "less than counts"
    return f"prediction would move by {change}, {counts} as another"

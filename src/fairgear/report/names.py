"""Groups, classes and answers by the words that the data have for them, where they have any."""

from __future__ import annotations

from fairgear.report.numbers import plain
from fairgear.report.parts import Part, mapping, sequence


def names_of(part: Part) -> Part:
    """The words of a run or an audit."""
    return mapping(mapping(part, "details"), "names")


def group_name(group: object, names: Part) -> str:
    """A group by its number, and by its word."""
    word = _word(group, sequence(names, "groups"))
    return f"group {plain(group)}" if word is None else f"group {group}, {word}"


def class_name(value: object, names: Part) -> str:
    """A class or an answer by its number, and by its word; unknown where there is none."""
    if value is None or value == -1:
        return "unknown"
    word = _word(value, sequence(names, "answers"))
    return plain(value) if word is None else f"{value}, {word}"


def answer_one(text: str, names: Part) -> str:
    """`text` with the word for answer 1 beside it."""
    known = sequence(names, "answers")
    return text.replace("answer 1", f"answer 1 ({known[1]})") if len(known) == 2 else text


def _word(value: object, known: list[object]) -> object | None:
    return known[value] if isinstance(value, int) and 0 <= value < len(known) else None

"""Markdown that shows any text as it is: names and notes can neither format nor break a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
# What would make a heading, a list, a rule or a table's rule of a line that begins with it.
_OPENING = re.compile(r"^(?:(?=[#+=:-])|(\d+)(?=[.)]))")


def inline(text: str) -> str:
    """`text` on one line, with everything escaped that Markdown or HTML would act upon."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def line(text: str) -> str:
    """The same where a line or an item of a list begins with it."""
    return _OPENING.sub(r"\1\\", inline(text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table of texts that are escaped here.

    Args:
        header: name of each column.
        rows: the cells of each row.
        words: how many of the first columns are words; the others are numbers, to the right.
    """
    rule = [":---" if place < words else "---:" for place in range(len(header))]
    lines = [[inline(cell) for cell in header], rule, *([inline(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bullets(sentences: Sequence[str]) -> str:
    """A list of texts that are escaped here."""
    return "\n".join(f"- {line(sentence)}" for sentence in sentences)

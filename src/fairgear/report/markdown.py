"""Markdown of text that may hold anything: lines, tables and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
# Characters that make a heading, a list, a rule or a table's rule of a line that begins with them.
_OPENING = re.compile(r"^(?:(?=[#+=:-])|(\d+)(?=[.)]))")


def inline(text: str) -> str:
    """`text` on one line, with everything escaped that Markdown or HTML would act upon."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def line(text: str) -> str:
    """The same at the beginning of a line or of a list item."""
    return _OPENING.sub(r"\1\\", inline(text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table; the first `words` columns are words, the others numbers, set right."""
    rule = [":---" if place < words else "---:" for place in range(len(header))]
    lines = [[inline(cell) for cell in header], rule, *([inline(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bullets(sentences: Sequence[str]) -> str:
    """A list."""
    return "\n".join(f"- {line(sentence)}" for sentence in sentences)

"""Notes: plain sentences beside the numbers; what has no value says so here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from fairgear.errors import UndefinedMetricWarning


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Inside, warnings about undefined measures become notes; all others stay warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UndefinedMetricWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, UndefinedMetricWarning):
            note = sentence(str(warning.message))
            if note not in notes:
                notes.append(note)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def sentence(text: str) -> str:
    """`text` with a capital and a full stop; symbols such as ΔDP stay as they are."""
    first = text[:1].upper() + text[1:] if text[:1].isascii() else text
    return first if first.endswith(".") else f"{first}."

"""Names of columns as people type them: what they mean, and near misses. Imports no torch."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from fairgear.errors import ParameterError

# What a sensitive column holds: two groups, several, or a number such as an age.
BINARY, CATEGORICAL, CONTINUOUS = SENSITIVE_KINDS = ("binary", "categorical", "continuous")
# The words for "not", by the words of a comparison.
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_COMPARISON = re.compile(
    r"\s*(?P<column>.*?\S)\s*(?P<sign><=|>=|<|>)\s*"
    r"(?P<bound>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*"
)


@dataclass(frozen=True)
class Comparison:
    """Two groups by a number, such as "age<40"."""

    column: str
    sign: str
    bound: str

    @classmethod
    def parse(cls, text: str, names: Iterable[str] = ()) -> Self | None:
        """The comparison that `text` spells; None if it spells none or is one of `names`."""
        found = None if text in names else _COMPARISON.fullmatch(text)
        return None if found is None else cls(found["column"], found["sign"], found["bound"])

    @property
    def groups(self) -> tuple[str, str]:
        """What the groups 0 and 1 are called; people for whom it holds are 1."""
        signs = OPPOSITE[self.sign], self.sign
        return f"{self.column}{signs[0]}{self.bound}", f"{self.column}{signs[1]}{self.bound}"


def sensitive_column(text: str, names: Iterable[str]) -> str:
    """The column that `--sensitive` needs: its own name, or that in a comparison."""
    found = Comparison.parse(text, names)
    return text if found is None else found.column


def sensitive_columns(text: str, names: Iterable[str]) -> list[str]:
    """All columns that `--sensitive` needs: several are joined by commas, as in "race,sex"."""
    known = list(names)
    if "," not in text or text in known:
        return [sensitive_column(text, known)]
    return [part.strip() for part in text.split(",")]


def said_kinds(texts: Iterable[str]) -> dict[str, str]:
    """What `--sensitive-kind age=continuous` says, by column; commas separate several."""
    found: dict[str, str] = {}
    for text in texts:
        parts = text.split(",")
        for part in parts if all("=" in part for part in parts) else [text]:
            column, _, kind = (word.strip() for word in part.rpartition("="))
            if not column or kind not in SENSITIVE_KINDS:
                allowed = f"COLUMN=KIND, where a kind is {', '.join(SENSITIVE_KINDS)}"
                step = "use --sensitive-kind age=continuous"
                raise ParameterError("--sensitive-kind", repr(part), allowed, step)
            found[column] = kind
    return found


def listed(values: Iterable[str], most: int = 5) -> str:
    """The first few values for a message."""
    found = list(values)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(repr(value) for value in found[:most]) + more


# Names among which a near miss is looked for: that takes some microseconds for each.
_COMPARED = 10_000


def near(name: str, known: Iterable[str]) -> list[str]:
    """What may have been meant by a name that is not known, the nearest first."""
    folded = {column.lower(): column for column in islice(known, _COMPARED)}
    found = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)
    return [folded[key] for key in found]


def unknown_column(known: Sequence[str], name: str, option: str) -> ParameterError:
    """The error for an option that names no column of the table."""
    next_step, meant = "choose a column of the table", near(name, known)
    if meant:
        next_step = f"did you mean {' or '.join(repr(column) for column in meant)}"
    got = f"{name!r}, which is no column"
    return ParameterError(f"--{option}", got, listed(known, 20), next_step)

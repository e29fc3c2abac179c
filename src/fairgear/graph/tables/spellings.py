"""Cells of text files as people and programs spell them: numbers, dates, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from fairgear.column_names import listed
from fairgear.delimited import NUMBER

# What stands for a missing value in text files of this and other programs.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "?")
# In any case; they may also be levels, which --categorical says.
UNKNOWN_WORDS = ("none", "unknown", "n/a", "null", "nan", "#n/a")
_BOOLEANS = {"true": True, "false": False}
_COMMA = r"[+-]?[0-9]+(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?"
_DOTTED = r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?"
_CLOCK = r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
_ISO = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_CLOCK}")
_DOTS = re.compile(r"(?P<first>[0-9]{1,2})\.(?P<second>[0-9]{1,2})\.(?P<year>[0-9]{4})")
_SLASHES = re.compile(r"(?P<first>[0-9]{1,2})[/-](?P<second>[0-9]{1,2})[/-](?P<year>[0-9]{4})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Reading:
    """What a column of text was read as.

    Args:
        values: the column: numbers, truth values or text, missing where unknown.
        kind: "numbers", "percentages", "dates", "true and false" or "text".
        said: how cells were read that are no plain numbers, for the user; "" if all are.
        example: one of them, and what it became.
    """

    values: pd.Series
    kind: str
    said: str = ""
    example: str = ""


def read_column(column: pd.Series, delimiter: str, *, coded: bool) -> Reading:
    """A column of stripped text as numbers, days or truth values if all of its cells are.

    Args:
        column: the cells.
        delimiter: of the file; beside a semicolon or a tab, a comma may be a decimal point.
        coded: whether cells stay text.
    """
    known = ~unknown_cells(column, coded=coded)
    cells = column[known]
    if coded or not len(cells):
        return Reading(column.where(known), "text")
    found = _numbers(cells, delimiter)
    if found is not None:
        return _read_numbers(cells, found, known)
    if cells.str.lower().isin(list(_BOOLEANS)).all():
        return Reading(column.where(known).str.lower().map(_BOOLEANS), "true and false")
    days = _days(cells)
    if days is None:
        return Reading(column.where(known), "text")
    if not days:
        said = "dates stay text, since day and month cannot be told apart"
        return Reading(column.where(known), "text", said, f"{cells.iloc[0]!r}, not 2020-12-31")
    example = f"{cells.iloc[0]!r} as {days[cells.iloc[0]]:.10g}"
    values = _placed(known, [days[cell] for cell in cells])
    return Reading(values, "dates", "dates are read as days since 1970", example)


def said_together(readings: dict[str, Reading]) -> list[str]:
    """One line for all columns that were read in the same way."""
    alike: dict[str, list[str]] = {}
    for name, reading in readings.items():
        if reading.said:
            alike.setdefault(reading.said, []).append(name)
    return [
        f"{said}: {listed(names)}, such as {readings[names[0]].example}"
        for said, names in alike.items()
    ]


def unknown_cells(column: pd.Series, *, coded: bool = False) -> pd.Series:
    """Which cells spell a missing value; in a coded column `UNKNOWN_WORDS` are levels."""
    found = column.isin(MISSING_WORDS)
    return found if coded else found | column.str.lower().isin(UNKNOWN_WORDS)


def unknown_words(column: pd.Series, *, coded: bool = False) -> dict[str, int]:
    """How often each word for a missing value stands in a column; empty cells aside."""
    found = column[unknown_cells(column, coded=coded) & (column != "")]
    return {str(word): int(count) for word, count in found.value_counts().items()}


def days_of(column: pd.Series) -> pd.Series:
    """Dates of Python, NumPy or pandas as days since 1970, with the time of day as a fraction."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "M":
        # Whole microseconds are exact; the type may count in seconds or nanoseconds.
        counted = column.to_numpy().astype("datetime64[us]")
        days = counted.astype(np.int64) / (86_400 * 10**6)
        return pd.Series(np.where(np.isnat(counted), np.nan, days), index=column.index)
    held = [np.nan if pd.isna(value) else _day(value) for value in column.astype(object)]
    return pd.Series(held, index=column.index, dtype=np.float64)


def _placed(known: pd.Series, values: list[float]) -> pd.Series:
    """The values at the known rows, NaN elsewhere."""
    found = np.full(len(known), np.nan)
    found[known.to_numpy()] = values
    return pd.Series(found, index=known.index)


@dataclass(frozen=True)
class _Spelling:
    """How numbers may be written, and how to write them as Python does."""

    pattern: str
    said: str = ""
    left_out: str = ""
    point: str = "."

    def rewritten(self, cell: str) -> str:
        return cell.replace(self.left_out, "").replace(self.point, ".") if self.said else cell


_PLAIN = _Spelling(NUMBER)
_DECIMAL = _Spelling(_COMMA, "commas are read as decimal points", " ", ",")
_COMMAS = _Spelling(f"{_THOUSANDS}|{NUMBER}", "commas between thousands are left out", ",")
_POINTS = _Spelling(f"{_DOTTED}|{_COMMA}", "points between thousands are left out", ".", ",")
# In the order in which they are tried. Where a comma separates cells, 0,5 is more likely a code.
_SPELLINGS = {
    ",": (_PLAIN, _COMMAS),
    ";": (_PLAIN, _DECIMAL, _POINTS, _COMMAS),
    "\t": (_PLAIN, _COMMAS, _DECIMAL, _POINTS),
}


def _numbers(cells: pd.Series, delimiter: str) -> _Spelling | None:
    """How all cells spell numbers, percent signs aside; None if they do not."""
    bare = _bare(cells)
    tried = _SPELLINGS[delimiter]
    return next((one for one in tried if bare.str.fullmatch(one.pattern).all()), None)


def _bare(cells: pd.Series) -> pd.Series:
    """The cells without their percent signs, where all have one."""
    percent = bool(cells.str.endswith("%").all())
    return cells.str[:-1].str.rstrip() if percent else cells


def _read_numbers(cells: pd.Series, spelling: _Spelling, known: pd.Series) -> Reading:
    bare = _bare(cells)
    percent = bare is not cells
    texts = [spelling.rewritten(cell) for cell in bare]
    # Python's float rounds correctly. Faster parsers can be off in the last digit, which is
    # enough to change the edges of a similarity graph.
    values = _placed(known, [float(text) for text in texts])
    words = [spelling.said] if spelling.said else []
    words += ["percentages are read as numbers"] if percent else []
    shown = 0
    if spelling.said:
        pairs = enumerate(zip(texts, bare, strict=True))
        shown = next((i for i, (text, cell) in pairs if text != cell), 0)
    example = f"{cells.iloc[shown]!r} as {texts[shown]}"
    return Reading(values, "percentages" if percent else "numbers", " and ".join(words), example)


def _days(cells: pd.Series) -> dict[str, float] | None:
    """Days by cell; None if some cell is no date, nothing if day and month cannot be told apart."""
    texts = list(dict.fromkeys(cells))
    try:
        if all(_ISO.fullmatch(text) for text in texts):
            return {text: _day(datetime.fromisoformat(text)) for text in texts}
        for pattern in (_DOTS, _SLASHES):
            found = [match for text in texts if (match := pattern.fullmatch(text))]
            if len(found) == len(texts):
                return _days_by_place(found, pattern)
    except ValueError:
        # Such as February 30.
        return None
    return None


def _days_by_place(found: list[re.Match[str]], pattern: re.Pattern[str]) -> dict[str, float]:
    """Days by cell where the year comes last; a number above 12 shows which one is the day."""
    first, second = (max(int(match[key]) for match in found) for key in ("first", "second"))
    if pattern is _SLASHES and max(first, second) <= 12:
        return {}
    day, month = ("first", "second") if pattern is _DOTS or first > 12 else ("second", "first")
    return {
        match.string: _day(date(*(int(match[key]) for key in ("year", month, day))))
        for match in found
    }


def _day(value: Any) -> float:
    if not isinstance(value, datetime):
        return float(value.toordinal() - _EPOCH.toordinal())
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) / timedelta(days=1)


def said_of_unknown(found: dict[str, dict[str, int]]) -> str:
    """The line on words that count as missing, by column."""
    shown = ", ".join(
        f"{name} ({', '.join(f'{word!r} {count:,}' for word, count in words.items())})"
        for name, words in list(found.items())[:5]
    )
    more = f" and {len(found) - 5} more columns" if len(found) > 5 else ""
    return f"count as missing: {shown}{more}"


def maybe_levels(words: Iterable[str]) -> bool:
    """Whether some of these words for a missing value may be levels, see `UNKNOWN_WORDS`."""
    return any(word not in MISSING_WORDS for word in words)

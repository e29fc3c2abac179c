"""The table of people as CSV that a spreadsheet opens, and that runs nothing in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_numeric_dtype
from pyarrow import csv

from fairgear.files import replacing
from fairgear.text import visible

if TYPE_CHECKING:
    from fairgear.auditing.names import Names

# By this a spreadsheet knows that the text is UTF-8.
_MARK = b"\xef\xbb\xbf"
# Rows that are turned into text at a time.
_ROWS = 2**16
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
# What begins a formula: at the start of a cell, or of what a spreadsheet with another separator
# takes for one. Wide forms are read as the plain ones.
_FORMULA = re.compile("(^|[;,|\\t\\r\\n])([\"'\\s]*)([=+\\-@\uff1d\uff0b\uff0d\uff20])")


def safe_cell(text: str) -> str:
    """`text` so that no spreadsheet runs it: an apostrophe goes before what begins a formula.

    Plain numbers stay as they are. What would steer a terminal that shows the file is written out.
    """
    shown = visible(text)
    if _NUMBER.fullmatch(shown):
        return shown
    safe = _FORMULA.sub(r"\1\2'\3", shown)
    # A tab or a line's end may be skipped, and what follows be run.
    return f"'{safe}" if safe.startswith(("\t", "\r", "\n")) else safe


def write_people_csv(people: pd.DataFrame, names: Names, path: Path) -> None:
    """Write the table of people: UTF-8 with a mark, commas, a header; empty where undefined.

    Beside the numbers of groups and answers are the words of the data, in columns that end in
    `_name`, where the data have words.
    """
    with replacing(path, private=True) as temporary, temporary.open("wb") as file:
        file.write(_MARK)
        header = True
        for begin in range(0, max(len(people), 1), _ROWS):
            rows = _with_words(people.iloc[begin : begin + _ROWS], names)
            options = csv.WriteOptions(include_header=header, quoting_style="needed")
            csv.write_csv(pa.Table.from_pandas(rows, preserve_index=False), file, options)
            header = False


def _with_words(people: pd.DataFrame, names: Names) -> pd.DataFrame:
    """The rows with words beside numbers, every text safe."""
    words = {
        **dict.fromkeys(("y", "label"), names.classes),
        **dict.fromkeys(
            ("band", "other_band") if names.number else ("sens", "other_group"), names.groups
        ),
        # Of two people, as tables of links have them.
        **dict.fromkeys(("group", "group_source", "group_target", "group_listed"), names.groups),
    }
    columns: dict[str, pd.Series[Any]] = {}
    for name in map(str, people.columns):
        column = people[name]
        columns[name] = column if is_numeric_dtype(column) else column.map(_text)
        if words.get(name):
            columns[f"{name}_name"] = column.map(_named(words[name]))
    return pd.DataFrame(columns)


def _named(words: Sequence[str]) -> dict[int, str]:
    return {number: safe_cell(word) for number, word in enumerate(words)}


def _text(value: object) -> object:
    return safe_cell(value) if isinstance(value, str) else value

"""Rows of delimited text, every cell as the text it is."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from fairgear.graph.reading.source import unreadable

DELIMITERS = (",", ";", "\t")


def delimiter_of(line: str, path: Path) -> str:
    """What separates the cells of a line; a comma where nothing does."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    bare = re.sub(r'"[^"]*"', "", line)
    return max(DELIMITERS, key=bare.count)


def rows_of_text(text: str, delimiter: str, path: Path) -> pd.DataFrame:
    """All rows of equal length, the first among them, columns numbered."""
    try:
        first = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    except (csv.Error, StopIteration) as error:
        raise unreadable(
            path, "no row that can be read", "rows of cells", "check the first line"
        ) from error
    names = [f"f{i}" for i in range(len(first))]
    try:
        # Cells stay text: a number made of an id could lose its last digits.
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            arrow_csv.ReadOptions(use_threads=False, column_names=names),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        what = (
            f"{found[3]} cells in line {found[1]} where the first has {found[2]}"
            if found
            else "quotes or lines that do not close"
        )
        raise unreadable(
            path, what, "as many cells in every line", "correct that line, or quote such cells"
        ) from error
    rows: pd.DataFrame = table.to_pandas()
    rows.columns = pd.RangeIndex(rows.shape[1])
    return pd.DataFrame({column: rows[column].str.strip() for column in rows})

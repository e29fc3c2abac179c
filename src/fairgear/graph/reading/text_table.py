"""Node tables in text files: .csv and .tsv, with the names of the columns in the first line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.identity import id_column
from fairgear.graph.reading.delimited import delimiter_of, rows_of_text
from fairgear.graph.reading.source import text_of, unreadable

# What stands for a missing value in text, in this and in other programs' files.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "?")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI]nf(?:inity)?"
_COMMA_NUMBER = r"[+-]?[0-9]+(?:,[0-9]+)?"
_TRUTH = {"true": True, "false": False}


def read_text_table(path: Path, columns: TableColumns) -> pd.DataFrame:
    """The table: ids and codes as text, numbers, true and false, and text."""
    text = text_of(path)
    delimiter = delimiter_of(text.split("\n", 1)[0], path)
    rows = rows_of_text(text, delimiter, path)
    header = [str(name) for name in rows.iloc[0]]
    table = rows.iloc[1:].reset_index(drop=True)
    table.columns = pd.Index(header)
    if header[0] == "" and len(header) > 1:
        # What pandas writes first unless told otherwise: row numbers.
        table, header = table.iloc[:, 1:], header[1:]
    _check_header(path, header)
    if table.empty:
        raise unreadable(
            path, "a header and no rows", "a header and one row a person", "add the rows"
        )
    as_text = {id_column(header, columns)}
    coded = set(columns.categorical)
    return pd.DataFrame(
        {
            name: table[name] if name in as_text else _typed(table[name], delimiter, name in coded)
            for name in header
        }
    )


def _check_header(path: Path, header: list[str]) -> None:
    repeated = [name for name in header if header.count(name) > 1]
    if "" in header or repeated:
        got = (
            f"column {header.index('') + 1} without a name"
            if "" in header
            else f"the column {repeated[0]!r} {header.count(repeated[0])} times"
        )
        raise unreadable(
            path, got, "distinct names in the first line", "name each column once in the first line"
        )


def _typed(column: pd.Series, delimiter: str, coded: bool) -> pd.Series:
    """A column of text as what all of its cells can be."""
    known = ~column.isin(MISSING_WORDS)
    cells = column[known]
    if coded or not len(cells):
        return column.where(known)
    if cells.str.fullmatch(_NUMBER).all():
        return _numbers(column, known)
    if delimiter == ";" and cells.str.fullmatch(_COMMA_NUMBER).all():
        # Where a comma cannot separate cells, it is a decimal point.
        return _numbers(column.str.replace(",", "."), known)
    if cells.str.lower().isin(list(_TRUTH)).all():
        return column.where(known).str.lower().map(_TRUTH)
    return column.where(known)


def _numbers(column: pd.Series, known: pd.Series) -> pd.Series:
    values = np.full(len(column), np.nan)
    # Python's float rounds correctly; some faster readers are a last digit off, which is enough
    # to join other people where rows are compared.
    values[known.to_numpy()] = [float(cell) for cell in column[known]]
    return pd.Series(values, index=column.index)

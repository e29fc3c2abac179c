"""Delimited text: node tables with a header, and edge lists with or without one."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from fairgear.graph.reading.formats import read_parquet, text_of, wrong_content
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.table_graph import EdgeList

DELIMITERS = (",", ";", "\t")
EDGE_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".parquet")
COMMENTS = ("#", "%")
# What stands for a missing value in text files of this and other programs.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "?")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI]nf(?:inity)?"
_COMMA_NUMBER = r"[+-]?[0-9]+(?:,[0-9]+)?"
_BOOLEANS = {"true": True, "false": False}


def read_text_table(path: Path, columns: TableColumns) -> pd.DataFrame:
    """A table whose first line names the columns: text, numbers, true and false; ids as text."""
    text = text_of(path)
    delimiter = delimiter_of(text.split("\n", 1)[0], path)
    rows = _rows(text, delimiter, path)
    header = [str(name) for name in rows.iloc[0]]
    table = rows.iloc[1:].reset_index(drop=True)
    table.columns = pd.Index(header)
    if header[0] == "" and len(header) > 1:
        # The index, which pandas writes by default.
        table, header = table.iloc[:, 1:], header[1:]
    _check_header(path, header)
    if table.empty:
        got, allowed = "a header and no rows", "a header and one row a person"
        raise wrong_content(path, got, allowed, "add the rows")
    id_column, coded = columns.id_column(header), set(columns.categorical)
    return pd.DataFrame(
        {
            name: table[name]
            if name == id_column
            else _typed(table[name], delimiter, name in coded)
            for name in header
        }
    )


def read_edge_list(path: Path) -> EdgeList:
    """Edges by id; the ids stay text until they are compared with those of the node table."""
    ending = path.suffix.lower()
    if ending not in EDGE_ENDINGS:
        raise wrong_content(
            path,
            f"an edge list that ends in {ending or 'nothing'}",
            ", ".join(EDGE_ENDINGS),
            "save it as .csv, one edge a line",
        )
    if ending == ".parquet":
        return EdgeList(read_parquet(path))
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(COMMENTS)]
    if not lines:
        raise wrong_content(path, "comments and no edges", "one edge a line", "add the edges")
    if not any(mark in lines[0] for mark in DELIMITERS):
        lines = [re.sub(r"\s+", "\t", line.strip()) for line in lines]
    rows = _rows("\n".join(lines) + "\n", delimiter_of(lines[0], path), path)
    if rows.shape[1] > 2 and rows.iloc[0, 0] == "":
        rows = rows.iloc[:, 1:]
    return EdgeList(pd.DataFrame(rows), header=True)


def delimiter_of(line: str, path: Path) -> str:
    """What separates the cells of a line; a comma if nothing does."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    bare = re.sub(r'"[^"]*"', "", line)
    return max(DELIMITERS, key=bare.count)


def _rows(text: str, delimiter: str, path: Path) -> pd.DataFrame:
    """All rows, the first among them, as text; columns are numbered."""
    try:
        first = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    except (csv.Error, StopIteration) as error:
        raise wrong_content(
            path, "no row that can be read", "rows of cells", "check the first line"
        ) from error
    names = [f"f{i}" for i in range(len(first))]
    try:
        # Cells stay text: an id read as a number could lose its last digits.
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
        got = "quotes or lines that do not close"
        if found:
            got = f"{found[3]} cells in line {found[1]} where the first has {found[2]}"
        allowed, next_step = "as many cells in every line", "correct that line, or quote such cells"
        raise wrong_content(path, got, allowed, next_step) from error
    rows: pd.DataFrame = table.to_pandas()
    rows.columns = pd.RangeIndex(rows.shape[1])
    return pd.DataFrame({column: rows[column].str.strip() for column in rows})


def _check_header(path: Path, header: list[str]) -> None:
    repeated = [name for name in header if header.count(name) > 1]
    if "" in header or repeated:
        got = (
            f"column {header.index('') + 1} without a name"
            if "" in header
            else f"the column {repeated[0]!r} {header.count(repeated[0])} times"
        )
        allowed, next_step = "distinct names in the first line", "name each column once there"
        raise wrong_content(path, got, allowed, next_step)


def _typed(column: pd.Series, delimiter: str, coded: bool) -> pd.Series:
    """A column of text as numbers or truth values if all of its cells are."""
    known = ~column.isin(MISSING_WORDS)
    cells = column[known]
    if coded or not len(cells):
        return column.where(known)
    if cells.str.fullmatch(_NUMBER).all():
        return _numbers(column, known)
    if delimiter == ";" and cells.str.fullmatch(_COMMA_NUMBER).all():
        # The comma does not separate cells here: it is a decimal point.
        return _numbers(column.str.replace(",", "."), known)
    if cells.str.lower().isin(list(_BOOLEANS)).all():
        return column.where(known).str.lower().map(_BOOLEANS)
    return column.where(known)


def _numbers(column: pd.Series, known: pd.Series) -> pd.Series:
    values = np.full(len(column), np.nan)
    # Python's float rounds correctly. Faster parsers can be off in the last digit, which is
    # enough to change the edges of a similarity graph.
    values[known.to_numpy()] = [float(cell) for cell in column[known]]
    return pd.Series(values, index=column.index)

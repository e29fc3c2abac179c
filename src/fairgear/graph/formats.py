"""Files of users, one function a format: Parquet, PyG, GraphML and delimited text."""

from __future__ import annotations

import csv
import importlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from fairgear.errors import FairgearError, FileError
from fairgear.files import read_errors, unreadable
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.table_graph import EdgeList

# What a pickled Data consists of; a file that names anything else is refused.
_PYG_CLASSES = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
DELIMITERS = (",", ";", "\t")
EDGE_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".parquet")
COMMENTS = ("#", "%")
# What stands for a missing value in text files of this and other programs.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "?")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI]nf(?:inity)?"
_COMMA_NUMBER = r"[+-]?[0-9]+(?:,[0-9]+)?"
_BOOLEANS = {"true": True, "false": False}


def wrong_content(path: Path, got: str, allowed: str, next_step: str) -> FileError:
    """The error for a file that can be read and is not what it should be."""
    return FileError(f"file {path}", got, allowed, next_step)


def ending_of(path: Path, what: str, endings: Sequence[str], next_step: str) -> str:
    """The ending of a file's name, which must be one of `endings`."""
    ending = path.suffix.lower()
    if ending not in endings:
        got = f"{what} that ends in {ending or 'nothing'}"
        raise wrong_content(path, got, ", ".join(endings), next_step)
    return ending


def _content(path: Path) -> bytes:
    """The bytes of a file that is not empty."""
    with read_errors(path):
        found = path.read_bytes()
    if not found.strip():
        raise wrong_content(path, "an empty file", "a file with rows", "check that it was saved")
    return found


def _text_of(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    found = _content(path)
    if b"\0" in found:
        raise wrong_content(
            path,
            f"a binary file (byte {found.index(0)} is zero)",
            f"text, as its ending {path.suffix} says",
            "check what kind of file it is; a Parquet file ends in .parquet",
        )
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong_content(
            path,
            f"byte 0x{found[error.start]:02x} at position {error.start}, which is no UTF-8",
            "text in UTF-8",
            "save it again as UTF-8 (in a spreadsheet: CSV UTF-8)",
        ) from error


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a Parquet file."""
    found = _content(path)
    with parquet_errors(path):
        return to_frame(parquet.read_table(pa.BufferReader(found)))


def to_frame(table: pa.Table, *, ignore_metadata: bool = False) -> pd.DataFrame:
    """As pandas; integers with gaps stay integers, since floats would round long ids."""
    frame: pd.DataFrame = table.to_pandas(
        integer_object_nulls=True, ignore_metadata=ignore_metadata
    )
    return frame


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turns errors of reading the Parquet file `path` into a `FileError`."""
    try:
        yield
    except FairgearError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        # Errors of the system have a number; pyarrow's OSErrors for damaged bytes have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(path, error) from error
        raise wrong_content(
            path,
            f"no table in Parquet, or a damaged one ({' '.join(str(error).split())[:120]})",
            "a Parquet file",
            "check what kind of file it is, or save it again",
        ) from error


def read_pyg(path: Path) -> Data:
    """A `Data`, or a dictionary of its tensors, saved with torch; no code in the file is run."""
    found = _content(path)
    try:
        with torch.serialization.safe_globals(_PYG_CLASSES), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = torch.load(io.BytesIO(found), map_location="cpu", weights_only=True)
        # A Data that was put together by hand can still hold anything instead of its storage.
        value = Data.from_dict(value if isinstance(value, dict) else value.to_dict())
    # A damaged pickle can raise anything.
    except Exception as error:
        raise wrong_content(
            path,
            "no PyG Data that torch can load as weights only",
            "a torch_geometric.data.Data of tensors and plain values, saved with torch.save",
            "save the Data itself, or its to_dict(), with torch.save",
        ) from error
    return value


def has_masks(path: Path) -> bool:
    """Whether a PyG file has a training, a validation and a test mask, none of them empty."""
    data = read_pyg(path)
    x, found = data.get("x"), [data.get(key) for key in MASKS]
    return isinstance(x, Tensor) and all(
        isinstance(mask, Tensor) and mask.shape == x.shape[:1] and bool(mask.any())
        for mask in found
    )


def read_graphml(path: Path) -> Any:
    """A NetworkX graph."""
    try:
        networkx = importlib.import_module("networkx")
    except ImportError as error:
        raise FileError(
            f"file {path}",
            "no package networkx to read GraphML with",
            "fairgear with its extra [networkx]",
            "pip install 'fairgear[networkx]'",
        ) from error
    found = _content(path)
    try:
        return networkx.read_graphml(io.BytesIO(found))
    # The reader passes on any error of its parsers.
    except Exception as error:
        raise wrong_content(
            path, "no graph in GraphML", "a GraphML file", "write it again, or use an edge list"
        ) from error


def read_text_table(path: Path, columns: TableColumns) -> pd.DataFrame:
    """A table whose first line names the columns: text, numbers, true and false; ids as text."""
    text = _text_of(path)
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
    next_step = "save it as .csv, one edge a line"
    if ending_of(path, "an edge list", EDGE_ENDINGS, next_step) == ".parquet":
        return EdgeList(read_parquet(path))
    lines = [line for line in _text_of(path).splitlines() if line.strip()]
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

"""Files of users, one function a format: Parquet, PyG, GraphML and delimited text."""

from __future__ import annotations

import csv
import importlib
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import torch
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from fairgear.column_names import listed
from fairgear.delimited import (
    COMMENTS,
    DELIMITERS,
    cells_of,
    delimiter_of,
    filled,
    layout_of,
    spaced,
    text_of,
    wrong_content,
)
from fairgear.errors import FileError
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.converters import check_tensors
from fairgear.graph.tables.spellings import (
    maybe_levels,
    read_column,
    said_of_unknown,
    said_together,
    unknown_words,
)
from fairgear.graph.tables.table_graph import EdgeList, check_size
from fairgear.reading import reading

# What a pickled Data consists of; a file that names anything else is refused.
_PYG_CLASSES = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
EDGE_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".parquet")


def ending_of(path: Path, what: str, endings: Sequence[str], next_step: str) -> str:
    """The ending of a file's name, which must be one of `endings`."""
    ending = path.suffix.lower()
    if ending not in endings:
        got = f"{what} that ends in {ending or 'nothing'}"
        raise wrong_content(path, got, ", ".join(endings), next_step)
    return ending


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a Parquet file."""
    found = filled(path)
    with parquet_errors(path):
        file = parquet.ParquetFile(pa.BufferReader(found))
        # A few bytes may stand for millions of rows.
        check_size(file.metadata.num_rows, file.metadata.num_columns, f"file {path}")
        table = file.read()
        # Text may be no UTF-8, which is noticed where somebody looks at it.
        table.validate(full=True)
        return to_frame(table)


def to_frame(table: pa.Table, *, ignore_metadata: bool = False) -> pd.DataFrame:
    """As pandas; integers with gaps stay integers, since floats would round long ids."""
    frame: pd.DataFrame = table.to_pandas(
        integer_object_nulls=True, ignore_metadata=ignore_metadata
    )
    return frame


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turns errors of reading the Parquet file `path` into a `FileError`."""
    got, step = "no table in Parquet, or a damaged one", "check what it is, or save it again"
    # Notes of pandas inside the file can make pandas raise anything.
    with reading(path, got, "a Parquet file", step, also=(Exception,)):
        yield


def read_pyg(path: Path) -> Data:
    """A `Data`, or a dictionary of its tensors, saved with torch; no code in the file is run."""
    found = filled(path)
    got = "no PyG Data that torch can load as weights only"
    allowed = "a torch_geometric.data.Data of tensors and plain values, saved with torch.save"
    step = "save the Data itself, or its to_dict(), with torch.save"
    # A damaged pickle can raise anything.
    with reading(path, got, allowed, step, also=(Exception,)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.serialization.safe_globals(_PYG_CLASSES):
            value = torch.load(io.BytesIO(found), map_location="cpu", weights_only=True)
        # A Data that was put together by hand can still hold anything instead of its storage.
        held = value if isinstance(value, dict) else value.to_dict()
        # Names with an underscore are those of the storage itself.
        data = Data.from_dict({key: held[key] for key in held if not key.startswith("_")})
        check_tensors(data)
    return data


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
    found = filled(path)
    step = "write it again, or use an edge list"
    # The reader passes on any error of its parsers.
    with reading(path, "no graph in GraphML", "a GraphML file", step, also=(Exception,)):
        return networkx.read_graphml(io.BytesIO(found))


def read_text_table(
    path: Path, columns: TableColumns, notes: list[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """A table of text, numbers, true and false, ids as text; and what its columns were read as."""
    found, delimiter = read_cells(path, notes)
    id_column = columns.id_column(found.columns)
    readings = {
        str(name): read_column(cells, delimiter, coded=name in columns.categorical)
        for name, cells in found.items()
        if name != id_column
    }
    used = {name: reading for name, reading in readings.items() if name not in columns.drop}
    notes += said_together(used)
    words = {name: unknown_words(found[name], coded=name in columns.categorical) for name in used}
    words = {name: counts for name, counts in words.items() if counts}
    if words:
        notes.append(said_of_unknown(words))
    for name, counts in words.items():
        if maybe_levels(counts):
            notes.append(f"--categorical {name} keeps {listed(counts)} as levels")
    table = {
        name: readings[name].values if name in readings else cells for name, cells in found.items()
    }
    return pd.DataFrame(table), {name: reading.kind for name, reading in readings.items()}


def read_cells(path: Path, notes: list[str], *, index: bool = False) -> tuple[pd.DataFrame, str]:
    """The cells of a table as stripped text, by column, and what separates them in the file.

    A first column without a name is left out or, with `index`, is the index of the table.
    """
    layout = layout_of(text_of(path), path)
    notes += layout.notes
    rows = _rows(layout.text, layout.delimiter, path, notes)
    table = rows.iloc[1:].reset_index(drop=True) if layout.header else rows
    header = layout.names[: table.shape[1]]
    table.columns = pd.Index(header)
    if header[0] == "" and len(header) > 1:
        # The index, which pandas writes by default.
        table = table.set_axis(table.iloc[:, 0].tolist()) if index else table
        table, header = table.iloc[:, 1:], header[1:]
    _check_header(path, header)
    if table.empty:
        got, allowed = "a header and no rows", "a header and one row a person"
        raise wrong_content(path, got, allowed, "add the rows")
    return table, layout.delimiter


def read_edge_list(path: Path, notes: list[str]) -> EdgeList:
    """Edges by id; the ids stay text until they are compared with those of the node table."""
    next_step = "save it as .csv, one edge a line"
    if ending_of(path, "an edge list", EDGE_ENDINGS, next_step) == ".parquet":
        return EdgeList(read_parquet(path))
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    held = [line for line in lines if not line.startswith(COMMENTS)]
    if not held:
        raise wrong_content(path, "comments and no edges", "one edge a line", "add the edges")
    if len(held) < len(lines):
        notes.append(f"edges: skipped {len(lines) - len(held):,} lines of comments")
    text = "\n".join(held) + "\n"
    if not any(mark in held[0] for mark in DELIMITERS):
        text = spaced(text)
    said: list[str] = []
    rows = _rows(text, delimiter_of(text.split("\n", 1)[0], path), path, said)
    notes += [f"edges: {note}" for note in said]
    if rows.shape[1] > 2 and rows.iloc[0, 0] == "":
        rows = rows.iloc[:, 1:]
    return EdgeList(pd.DataFrame(rows), header=True)


def _rows(text: str, delimiter: str, path: Path, notes: list[str]) -> pd.DataFrame:
    """All rows, the first among them, as stripped text; columns are numbered.

    Separators at the end of lines, which make a column of nothing, are left out.
    """
    width = len(cells_of(text, delimiter, path))
    check_size(text.count("\n"), width, f"file {path}")
    try:
        table = _parsed(text, delimiter, width)
    except pa.ArrowInvalid as error:
        trimmed = _without_ends(text, delimiter, width)
        if trimmed is None:
            raise _ragged(path, error) from error
        notes.append(f"left out separators at the end of {trimmed[1]:,} lines")
        table = _parsed(trimmed[0], delimiter, width)
    rows: pd.DataFrame = table.to_pandas()
    rows.columns = pd.RangeIndex(rows.shape[1])
    rows = pd.DataFrame({column: rows[column].str.strip() for column in rows})
    full = kept = rows.shape[1]
    while kept > 2 and (rows[kept - 1] == "").all():
        kept -= 1
    if kept < full:
        rows = rows.iloc[:, :kept]
        notes.append(f"left out separators at the end of {len(rows):,} lines")
    return rows


def _parsed(text: str, delimiter: str, width: int) -> pa.Table:
    names = [f"f{i}" for i in range(width)]
    # Cells stay text: an id read as a number could lose its last digits.
    return arrow_csv.read_csv(
        pa.BufferReader(text.encode()),
        arrow_csv.ReadOptions(use_threads=False, column_names=names),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False
        ),
    )


def _without_ends(text: str, delimiter: str, width: int) -> tuple[str, int] | None:
    """The text with lines cut to `width` cells where only nothing follows, and their number."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    rows = [row for row in rows if row]
    if any(len(row) < width or "".join(row[width:]).strip() for row in rows):
        return None
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter).writerows(row[:width] for row in rows)
    return written.getvalue(), sum(len(row) > width for row in rows)


def _ragged(path: Path, error: pa.ArrowInvalid) -> FileError:
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
    got = "quotes or lines that do not close"
    if found:
        got = f"{found[3]} cells in line {found[1]} where the first has {found[2]}"
    allowed, next_step = "as many cells in every line", "correct that line, or quote such cells"
    return wrong_content(path, got, allowed, next_step)


def _check_header(path: Path, header: list[str]) -> None:
    counts = Counter(header)
    repeated = [name for name in header if counts[name] > 1]
    if "" in header or repeated:
        got = (
            f"column {header.index('') + 1} without a name"
            if "" in header
            else f"the column {repeated[0]!r} {counts[repeated[0]]} times"
        )
        allowed, next_step = "distinct names in the first line", "name each column once there"
        raise wrong_content(path, got, allowed, next_step)

"""Edge lists on disk, read a piece at a time: Parquet, NPY and text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from fairgear.errors import FileError, GraphError
from fairgear.files import unreadable
from fairgear.graph.reading.formats import parquet_errors, wrong_content
from fairgear.graph.reading.text import COMMENTS, DELIMITERS, delimiter_of
from fairgear.graph.stored.feature_files import mapped

Pairs = NDArray[np.int64]
TEXT = (".csv", ".tsv", ".txt", ".edges")
ENDINGS = (".parquet", ".npy", *TEXT)
_WHOLE = re.compile(r"\s*-?[0-9]+\s*")
# Bytes of text read at a time, at most; they take several times as much memory.
_BLOCK = 16 * 2**20


def edge_chunks(path: Path, size: int) -> Iterator[Pairs]:
    """Pairs of ids (2, m), about `size` at a time."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise wrong_content(
            path,
            f"an edge list that ends in {ending or 'nothing'}",
            ", ".join(ENDINGS),
            "save it as .parquet, two columns of ids",
        )
    read = _parquet if ending == ".parquet" else _array if ending == ".npy" else _text
    try:
        yield from read(path, size)
    except FileError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def most_edges(path: Path) -> int:
    """At least as many edges as the file has, by its size: a line of text takes four bytes."""
    try:
        if path.suffix.lower() == ".parquet":
            with parquet_errors(path):
                return int(parquet.read_metadata(path).num_rows)
        return path.stat().st_size // (8 if path.suffix.lower() == ".npy" else 4)
    except FileError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def _parquet(path: Path, size: int) -> Iterator[Pairs]:
    with (
        parquet_errors(path),
        parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False) as file,
    ):
        schema = file.schema_arrow
        if len(schema.names) < 2:
            raise _one_column(path)
        for field in list(schema)[:2]:
            if not pa.types.is_integer(field.type):
                raise _no_numbers(path, f"{field.type} in the column {field.name!r}")
        # Threads would read ahead, and use more memory.
        for batch in file.iter_batches(size, columns=schema.names[:2], use_threads=False):
            yield _ends(path, batch.columns)


def _array(path: Path, size: int) -> Iterator[Pairs]:
    found = mapped(path)
    if found.ndim != 2 or 2 not in found.shape or found.shape == (2, 2):
        raise wrong_content(
            path,
            f"an array of shape {found.shape}"
            + (", in which rows and columns cannot be told apart" if found.shape == (2, 2) else ""),
            "shape (2, edges) or (edges, 2)",
            "save one edge a row, or sources in one row and targets in the other",
        )
    if found.dtype.kind not in "iu":
        raise _no_numbers(path, str(found.dtype))
    across = found if found.shape[0] == 2 else found.T
    for begin in range(0, across.shape[1], size):
        yield np.ascontiguousarray(across[:, begin : begin + size]).astype(np.int64, copy=False)


def _text(path: Path, size: int) -> Iterator[Pairs]:
    skip, first = _first_line(path)
    marks = any(mark in first for mark in DELIMITERS)
    delimiter = delimiter_of(first, path) if marks else " "
    cells = [cell.strip('"') for cell in first.split(delimiter)]
    if len(cells) < 2:
        raise _one_column(path)
    # A line of names has no number in either place.
    named = not any(_WHOLE.fullmatch(cell) for cell in cells[:2])
    names = [f"f{i}" for i in range(len(cells))]
    try:
        reader = csv.open_csv(
            path,
            csv.ReadOptions(
                use_threads=False,
                block_size=max(2**12, min(_BLOCK, 8 * size)),
                skip_rows=skip + named,
                column_names=names,
            ),
            csv.ParseOptions(delimiter=delimiter),
            csv.ConvertOptions(
                column_types={name: pa.int64() for name in names[:2]}, include_columns=names[:2]
            ),
        )
        for batch in reader:
            for begin in range(0, batch.num_rows, size):
                yield _ends(path, batch.slice(begin, size).columns)
    except pa.ArrowException as error:
        if "Empty CSV" in str(error):
            return
        said = " ".join(str(error).split())
        raise wrong_content(
            path,
            f"a line that is no edge ({said[:120]})",
            "two whole numbers a line, lines of comments before the first edge only",
            "correct that line; number people whose ids are text, or read them with fairgear run",
        ) from error


def _first_line(path: Path) -> tuple[int, str]:
    """How many lines come before the first that is no comment, and that line."""
    skip = 0
    with path.open("rb") as file:
        for line in file:
            # Comments may be in any encoding; the other lines are checked when they are read.
            text = line.decode("utf-8-sig", errors="replace").strip()
            if text and not text.startswith(COMMENTS):
                return skip, text
            skip += 1
    raise wrong_content(path, "no edges", "one edge a line", "check that it was saved")


def _ends(path: Path, columns: list[pa.Array]) -> Pairs:
    if any(column.null_count for column in columns):
        raise GraphError(
            f"edges in {path}",
            "an edge with one end only",
            "two ids for every edge",
            "remove or complete it",
        )
    return np.stack([column.to_numpy().astype(np.int64, copy=False) for column in columns])


def _one_column(path: Path) -> FileError:
    return wrong_content(path, "1 column", "two columns of ids", "write one edge a line")


def _no_numbers(path: Path, got: str) -> FileError:
    return wrong_content(
        path,
        f"ends of edges as {got}",
        "whole numbers",
        "number the people from 0, or name a column of whole numbers with --id",
    )

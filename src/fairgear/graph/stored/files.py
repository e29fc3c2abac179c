"""Edge lists and tables of people on disk, read in pieces: Parquet, NPY and text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from fairgear.delimited import COMMENTS, DELIMITERS, delimiter_of, wrong_content
from fairgear.errors import FileError, GraphError
from fairgear.files import read_errors
from fairgear.graph.formats import ending_of, parquet_errors, to_frame
from fairgear.graph.tables.two_groups import TwoGroups
from fairgear.reading import DAMAGE, regular_file

Pairs = NDArray[np.int64]
EDGE_ENDINGS = (".parquet", ".npy", ".csv", ".tsv", ".txt", ".edges")
_WHOLE = re.compile(r"\s*-?[0-9]+\s*")
# Bytes of text read at a time, at most; they take several times as much memory.
_BLOCK = 16 * 2**20


def open_features(path: Path, beside: Sequence[Path] = ()) -> ParquetFeatures | ArrayFeatures:
    """The table of a file.

    Args:
        path: .parquet; or .npy, a matrix with a row for each person and columns x0, x1, ….
        beside: for a matrix, vectors in .npy files, which become columns named after them.
    """
    next_step = "save it as .parquet (pandas: frame.to_parquet)"
    ending = ending_of(path, "a feature table", (".parquet", ".npy"), next_step)
    for one in (path, *beside):
        regular_file(one)
    return ParquetFeatures(path) if ending == ".parquet" else ArrayFeatures(path, beside)


class ParquetFeatures:
    """A table in a Parquet file, which is never read as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _open(path) as file:
            self.rows = int(file.metadata.num_rows)
            self.names = [str(name) for name in file.schema_arrow.names]

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        with _open(self.path) as file, parquet_errors(self.path):
            return to_frame(file.read([name], use_threads=False), ignore_metadata=True)[name]

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""
        with _open(self.path) as file:
            batches = file.iter_batches(size, columns=list(names), use_threads=False)
            while True:
                # The rows are used outside: errors in writing them are not this file's.
                with parquet_errors(self.path):
                    batch = next(batches, None)
                if batch is None:
                    return
                table = pa.Table.from_batches([batch])
                yield to_frame(table, ignore_metadata=True)[list(names)]


class ArrayFeatures:
    """A matrix in an NPY file, and vectors in others, as memory maps."""

    def __init__(self, path: Path, beside: Sequence[Path]) -> None:
        self.path = path
        matrix = _mapped(path, 2)
        self.rows = len(matrix)
        self.names = [*(f"x{i}" for i in range(matrix.shape[1])), *(one.stem for one in beside)]
        vectors = [_mapped(vector, 1) for vector in beside]
        for vector, values in zip(beside, vectors, strict=True):
            if len(values) != self.rows:
                allowed = f"{self.rows}, one for each row of {path}"
                next_step = "check that both are of the same people"
                raise GraphError(f"file {vector}", f"{len(values)} values", allowed, next_step)
        self._arrays = dict(zip(self.names, [*matrix.T, *vectors], strict=True))

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        return pd.Series(np.array(self._arrays[name]), name=name)

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""
        for begin in range(0, self.rows, size):
            part = slice(begin, begin + size)
            yield pd.DataFrame({name: np.array(self._arrays[name][part]) for name in names})


class GroupedFeatures:
    """Another table with two groups in place of a column."""

    def __init__(self, table: ParquetFeatures | ArrayFeatures, groups: TwoGroups) -> None:
        self.path, self.rows = table.path, table.rows
        self.names = groups.names(table.names)
        self._table, self._groups = table, groups

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        if name != self._groups.name:
            return self._table.column(name)
        return self._groups.read(self._table.column(self._groups.column))

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some of the other columns, `size` people at a time."""
        yield from self._table.chunks(names, size)


class CrossedFeatures:
    """Another table with the groups that several of its columns make, in place of the first."""

    def __init__(
        self,
        table: ParquetFeatures | ArrayFeatures,
        parts: Sequence[str],
        groups: pd.Series,
        told: NDArray[np.int64],
    ) -> None:
        self.path, self.rows = table.path, table.rows
        names = [name for name in table.names if name not in parts[1:]]
        self.names = [str(groups.name) if name == parts[0] else name for name in names]
        self._table, self._groups = table, groups
        # The code of each of the columns, −1 where it is unknown.
        self.told = told

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        return self._groups if name == self._groups.name else self._table.column(name)

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some of the other columns, `size` people at a time."""
        yield from self._table.chunks(names, size)


FeatureFile = ParquetFeatures | ArrayFeatures | GroupedFeatures | CrossedFeatures


def edge_chunks(path: Path, size: int) -> Iterator[Pairs]:
    """Pairs of ids (2, m), about `size` at a time."""
    next_step = "save it as .parquet, two columns of ids"
    ending = ending_of(path, "an edge list", EDGE_ENDINGS, next_step)
    regular_file(path)
    read = _parquet if ending == ".parquet" else _array if ending == ".npy" else _text
    with read_errors(path):
        yield from read(path, size)


def most_edges(path: Path) -> int:
    """At least as many edges as the file has, by its size: a line of text takes four bytes."""
    regular_file(path)
    with read_errors(path):
        if path.suffix.lower() == ".parquet":
            with _open(path) as file:
                return int(file.metadata.num_rows)
        return path.stat().st_size // (8 if path.suffix.lower() == ".npy" else 4)


def _open(path: Path) -> parquet.ParquetFile:
    with parquet_errors(path):
        return parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False)


def _mapped(path: Path, dimensions: int | None = None) -> NDArray[Any]:
    """The array of an NPY file as a memory map."""
    try:
        with read_errors(path):
            found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGE as error:
        if isinstance(error, FileError):
            raise
        next_step = "save it with numpy.save"
        raise wrong_content(path, "no array in NPY", "an NPY file", next_step) from error
    if dimensions not in (None, found.ndim):
        allowed = "a matrix with one row a person" if dimensions == 2 else "one value a person"
        raise wrong_content(path, f"an array of shape {found.shape}", allowed, "reshape it")
    return found


def _parquet(path: Path, size: int) -> Iterator[Pairs]:
    with _open(path) as file, parquet_errors(path):
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
    found = _mapped(path)
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
    with path.open("rb") as file:
        for skip, line in enumerate(file):
            # Comments may be in any encoding; the other lines are checked when they are read.
            text = line.decode("utf-8-sig", errors="replace").strip()
            if text and not text.startswith(COMMENTS):
                return skip, text
    raise wrong_content(path, "no edges", "one edge a line", "check that it was saved")


def _ends(path: Path, columns: list[pa.Array]) -> Pairs:
    if any(column.null_count for column in columns):
        got, allowed = "an edge with one end only", "two ids for every edge"
        raise GraphError(f"edges in {path}", got, allowed, "remove or complete it")
    return np.stack([column.to_numpy().astype(np.int64, copy=False) for column in columns])


def _one_column(path: Path) -> FileError:
    return wrong_content(path, "1 column", "two columns of ids", "write one edge a line")


def _no_numbers(path: Path, got: str) -> FileError:
    next_step = "number the people from 0, or name a column of whole numbers with --id"
    return wrong_content(path, f"ends of edges as {got}", "whole numbers", next_step)

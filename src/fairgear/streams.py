"""NPY and Parquet files whose content comes in pieces, so that it need not fit into memory."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from pyarrow import parquet

from fairgear.files import replacing


def raw_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, copied only if they are not contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def npy_pieces(path: Path, dtype: DTypeLike, size: int) -> Iterator[NDArray[Any]]:
    """The elements of an NPY file that `NpyWriter` wrote, `size` at a time.

    Unlike a memory map, this does not count as memory of the process.
    """
    with path.open("rb") as file:
        npy.read_magic(file)
        npy.read_array_header_1_0(file)
        while len(piece := np.fromfile(file, np.dtype(dtype).newbyteorder("<"), size)):
            yield piece


class NpyWriter:
    """Writes an array of shape (any, *row) in pieces, and hashes it.

    Args:
        path: a temporary file: an unfinished one looks like an array too.
        dtype: of the elements.
        row: the shape of an entry.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row: tuple[int, ...] = ()) -> None:
        # The same bytes on every machine.
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.row = row
        self._elements = 0
        self._digest = hashlib.sha256()
        self._file = path.open("w+b")
        self._header(0)
        self._begin = self._file.tell()

    def append(self, piece: NDArray[Any]) -> None:
        """Write the next elements, in any shape."""
        flat = np.ascontiguousarray(piece, dtype=self.dtype).reshape(-1)
        raw = raw_bytes(flat)
        self._digest.update(raw)
        self._file.write(raw)
        self._elements += flat.size

    def finish(self, rows: int | None = None) -> str:
        """Complete the header; returns the SHA-256 of the elements.

        Args:
            rows: how many there are; needed if rows have no elements.
        """
        size = math.prod(self.row)
        rows = self._elements // size if rows is None else rows
        assert rows * size == self._elements, "a row was cut short"
        self._file.seek(0)
        self._header(rows)
        # The header leaves room for the number of rows to grow.
        assert self._file.tell() == self._begin
        self._file.close()
        return self._digest.hexdigest()

    def _header(self, rows: int) -> None:
        header = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (rows, *self.row),
        }
        npy.write_array_header_1_0(self._file, header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class ParquetStream:
    """A Parquet file that is written in row groups.

    Args:
        path: where to write.
        group: rows of a row group, at least: a file of thousands of groups is slow to read.
        schema: of all pieces; that of the first if not given.
    """

    def __init__(self, path: Path, group: int, schema: pa.Schema | None = None) -> None:
        self._path = path
        self._group = group
        self._schema = schema
        self._held: list[pa.Table] = []
        self._writer: parquet.ParquetWriter | None = None

    def write(self, piece: pd.DataFrame) -> None:
        """Append rows; columns and their types are those of the first piece."""
        table = pa.Table.from_pandas(piece, schema=self._schema, preserve_index=False)
        self._schema = table.schema
        self._held.append(table)
        if sum(map(len, self._held)) >= self._group:
            self._write_group()

    def close(self) -> None:
        """Write the last group and the footer."""
        if self._held:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        table = pa.concat_tables(self._held)
        self._held = []
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table, row_group_size=len(table))


@contextmanager
def parquet_stream(
    path: Path, *, group: int, schema: pa.Schema | None = None
) -> Iterator[ParquetStream]:
    """A stream to `path`, which keeps its old content until all rows are written.

    Rows are people: the file is its owner's alone.
    """
    with replacing(path, private=True) as temporary:
        stream = ParquetStream(temporary, group, schema)
        try:
            yield stream
        finally:
            stream.close()

"""Parquet files that are written in row groups as their rows come, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fairgear.files import replacing


class ParquetStream:
    """A file that is being written.

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
        """Append rows; columns and their kinds are those of the first piece."""
        table = pa.Table.from_pandas(piece, schema=self._schema, preserve_index=False)
        self._schema = table.schema
        self._held.append(table)
        if sum(map(len, self._held)) >= self._group:
            self._write_group()

    def close(self) -> None:
        """Write the last group, and what stands at the end of the file."""
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
    """A stream to `path`, which holds the old file, or none, until all rows are written."""
    with replacing(path) as temporary:
        stream = ParquetStream(temporary, group, schema)
        try:
            yield stream
        finally:
            stream.close()

"""What goes wrong in reading a Parquet file, as errors of that file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from fairgear import files
from fairgear.errors import FileError
from fairgear.graph.reading.source import unreadable


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Inside, `path` is read and nothing is written: an error is one of the file."""
    try:
        yield
    except FileError:
        raise
    except (pa.ArrowException, OSError) as error:
        # What the system refuses has a number; pyarrow gives none for bytes that it cannot decode.
        if isinstance(error, OSError) and error.errno is not None:
            raise files.unreadable(path, error) from error
        raise unreadable(
            path,
            f"no table in Parquet, or a damaged one ({' '.join(str(error).split())[:120]})",
            "a Parquet file, whole",
            "check what kind of file it is, or save it again",
        ) from error

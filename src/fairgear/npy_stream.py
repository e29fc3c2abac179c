"""NPY files whose content comes in pieces, hashed on the way."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray


def raw_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array where they lie; they are copied where they do not lie together."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def npy_pieces(path: Path, dtype: DTypeLike, size: int) -> Iterator[NDArray[Any]]:
    """The elements of an NPY file that `NpyWriter` wrote, so many at a time.

    A map of the file would count as memory of this process once it was read.
    """
    with path.open("rb") as file:
        npy.read_magic(file)
        npy.read_array_header_1_0(file)
        while len(piece := np.fromfile(file, np.dtype(dtype).newbyteorder("<"), size)):
            yield piece


class NpyWriter:
    """Writes an array of shape (any, *row) without ever holding it.

    Args:
        path: the file to write; give a temporary name, since a half of an array looks like one.
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
        """Write the next elements, in whatever shape they come."""
        flat = np.ascontiguousarray(piece, dtype=self.dtype).reshape(-1)
        raw = raw_bytes(flat)
        self._digest.update(raw)
        self._file.write(raw)
        self._elements += flat.size

    def finish(self, rows: int | None = None) -> str:
        """Say in the header how much there is; the SHA-256 of the elements.

        Args:
            rows: how many there are, for rows of no elements.
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
        said = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (rows, *self.row),
        }
        npy.write_array_header_1_0(self._file, said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

"""Tables of people on disk, read a column or some rows at a time: Parquet and NPY."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from fairgear.errors import GraphError
from fairgear.files import unreadable
from fairgear.graph.reading.formats import parquet_errors, to_frame, wrong_content

ENDINGS = (".parquet", ".npy")


class FeatureFile(ABC):
    """A table that is never read as a whole."""

    path: Path
    rows: int
    names: list[str]

    @abstractmethod
    def column(self, name: str) -> pd.Series:
        """One column of everybody."""

    @abstractmethod
    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""


def open_features(path: Path, beside: Sequence[Path] = ()) -> FeatureFile:
    """The table of a file.

    Args:
        path: .parquet; or .npy, a matrix with a row for each person and columns x0, x1, ….
        beside: for a matrix, vectors in .npy files, which become columns named after them.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise wrong_content(
            path,
            f"a feature table that ends in {ending or 'nothing'}",
            ", ".join(ENDINGS),
            "save it as .parquet (pandas: frame.to_parquet)",
        )
    found = ParquetFeatures(path) if ending == ".parquet" else ArrayFeatures(path, beside)
    if not found.rows:
        raise wrong_content(path, "no rows", "one row a person", "check that it was saved")
    repeated = {name for name in found.names if found.names.count(name) > 1}
    if repeated:
        raise wrong_content(
            path, f"the column {min(repeated)!r} twice", "distinct names", "rename one of them"
        )
    return found


class ParquetFeatures(FeatureFile):
    """A Parquet file, which can be read by columns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.rows = file.metadata.num_rows
            self.names = [str(name) for name in file.schema_arrow.names]

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        with self._open() as file:
            with parquet_errors(self.path):
                table = file.read([name], use_threads=False)
            return to_frame(table, ignore_metadata=True)[name]

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""
        with self._open() as file:
            batches = file.iter_batches(size, columns=list(names), use_threads=False)
            while True:
                # The rows are used outside: errors in writing them are not this file's.
                with parquet_errors(self.path):
                    batch = next(batches, None)
                if batch is None:
                    return
                table = pa.Table.from_batches([batch])
                yield to_frame(table, ignore_metadata=True)[list(names)]

    def _open(self) -> parquet.ParquetFile:
        with parquet_errors(self.path):
            return parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)


class ArrayFeatures(FeatureFile):
    """A matrix in an NPY file, and vectors in others."""

    def __init__(self, path: Path, beside: Sequence[Path]) -> None:
        self.path = path
        self._matrix = _mapped(path, 2)
        self._vectors = {vector.stem: _mapped(vector, 1) for vector in beside}
        self.rows = self._matrix.shape[0]
        self.names = [*(f"x{i}" for i in range(self._matrix.shape[1])), *self._vectors]
        for vector in beside:
            length = len(self._vectors[vector.stem])
            if length != self.rows:
                raise GraphError(
                    f"file {vector}",
                    f"{length} values",
                    f"{self.rows}, one for each row of {path}",
                    "check that both are of the same people",
                )

    def column(self, name: str) -> pd.Series:
        """One column of everybody."""
        return pd.Series(np.array(self._array(name)), name=name)

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""
        for begin in range(0, self.rows, size):
            part = slice(begin, begin + size)
            yield pd.DataFrame({name: np.array(self._array(name)[part]) for name in names})

    def _array(self, name: str) -> NDArray[Any]:
        if name in self._vectors:
            return self._vectors[name]
        column: NDArray[Any] = self._matrix[:, int(name.removeprefix("x"))]
        return column


def mapped(path: Path) -> NDArray[Any]:
    """The array of an NPY file as a memory map."""
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, EOFError) as error:
        raise wrong_content(
            path, "no array in NPY", "an NPY file", "save it with numpy.save"
        ) from error
    return found


def _mapped(path: Path, dimensions: int) -> NDArray[Any]:
    found = mapped(path)
    if found.ndim != dimensions:
        allowed = "a matrix with one row a person" if dimensions == 2 else "one value a person"
        raise wrong_content(path, f"an array of shape {found.shape}", allowed, "reshape it")
    return found

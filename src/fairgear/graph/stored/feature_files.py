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

from fairgear import files
from fairgear.errors import GraphError
from fairgear.graph.reading.source import unreadable
from fairgear.graph.stored.parquet_errors import parquet_errors

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
        beside: for a matrix, vectors in .npy files, which become columns called as they are.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise unreadable(
            path,
            f"a feature table that ends in {ending or 'nothing'}",
            ", ".join(ENDINGS),
            "save it as .parquet (pandas: frame.to_parquet)",
        )
    found = ParquetFeatures(path) if ending == ".parquet" else ArrayFeatures(path, beside)
    if not found.rows:
        raise unreadable(path, "no rows", "one row a person", "check that it was saved")
    repeated = {name for name in found.names if found.names.count(name) > 1}
    if repeated:
        raise unreadable(
            path, f"the column {min(repeated)!r} twice", "distinct names", "rename one of them"
        )
    return found


class ParquetFeatures(FeatureFile):
    """A Parquet file, whose columns lie apart."""

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
            return _frame(table)[name]

    def chunks(self, names: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Some columns of the people in order, `size` of them at a time."""
        with self._open() as file:
            batches = file.iter_batches(size, columns=list(names), use_threads=False)
            while True:
                # What is done with the rows, such as writing them, is no error of this file.
                with parquet_errors(self.path):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield _frame(pa.Table.from_batches([batch]))[list(names)]

    def _open(self) -> parquet.ParquetFile:
        with parquet_errors(self.path):
            return parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)


class ArrayFeatures(FeatureFile):
    """A matrix in an NPY file, and vectors beside it."""

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


def _mapped(path: Path, dimensions: int) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise files.unreadable(path, error) from error
    except (ValueError, EOFError) as error:
        raise unreadable(
            path, "no array in NPY", "an NPY file", "save it with numpy.save"
        ) from error
    if found.ndim != dimensions:
        raise unreadable(
            path,
            f"an array of shape {found.shape}",
            "a matrix with one row a person" if dimensions == 2 else "one value a person",
            "reshape it",
        )
    return found


def _frame(table: pa.Table) -> pd.DataFrame:
    # Integers with gaps would become floats, and long ids others'.
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True, ignore_metadata=True)
    return frame

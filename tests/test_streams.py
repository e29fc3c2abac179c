"""Files that are written in pieces are those that would have been written at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from fairgear.streams import NpyWriter, parquet_stream


@given(
    cuts=st.lists(st.integers(0, 50), max_size=4),
    dtype=st.sampled_from(["float32", "int64", "bool", ">i4"]),
    width=st.sampled_from([(), (3,), (0,)]),
)
def test_an_array_in_pieces_is_the_array(
    cuts: list[int], dtype: str, width: tuple[int, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    whole = np.random.default_rng(0).integers(0, 2, (50, *width)).astype(dtype)
    with NpyWriter(path, dtype, width) as writer:
        for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), 50], strict=True):
            writer.append(whole[begin:end])
        digest = writer.finish(50)
    read = np.load(path)
    assert np.array_equal(read, whole)
    assert read.dtype == np.dtype(dtype).newbyteorder("<")
    assert digest == hashlib.sha256(read.tobytes()).hexdigest()


def test_a_row_that_is_cut_short_is_no_row(tmp_path: Path) -> None:
    with NpyWriter(tmp_path / "a.npy", np.int64, (3,)) as writer:
        writer.append(np.arange(4))
        with pytest.raises(AssertionError, match="cut short"):
            writer.finish()


def test_row_groups_are_written_as_they_fill(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": np.arange(25), "b": [f"n{i}" for i in range(25)]})
    with parquet_stream(path, group=8) as stream:
        for begin in range(0, 25, 5):
            stream.write(frame[begin : begin + 5])
        assert not path.exists()
    file = parquet.ParquetFile(path)
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert groups == [10, 10, 5]
    pd.testing.assert_frame_equal(pd.read_parquet(path), frame)


def _write(path: Path, second: Callable[[], pd.DataFrame]) -> None:
    with parquet_stream(path, group=1) as stream:
        stream.write(pd.DataFrame({"a": [2]}))
        stream.write(second())


def test_a_stream_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        _write(path, lambda: pd.DataFrame({"a": [1 // 0]}))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.parquet"]


def test_pieces_have_the_kinds_of_the_first(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowException):
        _write(tmp_path / "t.parquet", lambda: pd.DataFrame({"a": ["text"]}))
    assert list(tmp_path.iterdir()) == []

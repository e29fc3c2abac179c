"""Arrays from outside, beside what NumPy itself reads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.lib import format as npy

from fairgear.auditing.exchange.arrays import array_of


def saved(values: Any, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, np.asarray(values), version=version)
    return file.getvalue()


@given(
    arrays.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.uint8]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0),
    ),
    st.sampled_from([(1, 0), (2, 0)]),
)
def test_an_array_comes_back(values: Any, version: tuple[int, int]) -> None:
    found = array_of(saved(values, version))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("shape", [(10**12,), (10**9, 10**9), (5,)])
def test_a_size_that_a_file_does_not_have_takes_no_memory(shape: tuple[int, ...]) -> None:
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, header)
    content = file.getvalue() + b"\0" * 16
    # The header has 128 bytes, so what stands in a few of these is no array of so many numbers.
    with pytest.raises(ValueError, match=r"size|EOF"):
        array_of(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00aaaa", saved(np.array([{}], dtype=object))[:-3]],
    ids=["nothing", "a beginning", "a version to come", "a pickle"],
)
def test_anything_else_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        array_of(content)


@given(st.binary(max_size=200))
def test_bytes_after_a_beginning_are_an_array_or_a_value_error(rest: bytes) -> None:
    try:
        array_of(b"\x93NUMPY\x01\x00" + rest)
    except (ValueError, EOFError):
        return

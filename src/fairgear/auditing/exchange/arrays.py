"""Arrays that others saved: a NumPy file's content, checked before it takes memory."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_HEADERS = {1: npy.read_array_header_1_0, 2: npy.read_array_header_2_0}


def array_of(content: bytes) -> NDArray[Any]:
    """The array of a file that `numpy.save` wrote; a ValueError for anything else.

    A few bytes may claim a size of terabytes, which NumPy would ask the machine for.
    """
    file = io.BytesIO(content)
    major, _ = npy.read_magic(file)
    if major not in _HEADERS:
        raise ValueError(f"a NumPy file of version {major}")
    shape, _, dtype = _HEADERS[major](file)
    if math.prod(shape) * dtype.itemsize > len(content):
        raise ValueError("a size that is not that of the file")
    file.seek(0)
    found: NDArray[Any] = np.load(file, allow_pickle=False)
    return found

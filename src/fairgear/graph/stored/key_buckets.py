"""More numbers than memory holds, sorted and each once: by ranges, through files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairgear.npy_stream import raw_bytes

Keys = NDArray[np.int64]
# Files of one division, at most; a range that is still too full is divided again.
_MOST = 256


class KeyBuckets:
    """Files for the ranges that [low, high) is divided into, and their numbers in rising order.

    Args:
        folder: for the files, which are gone at the end.
        low, high: between which all numbers are.
        expected: about how many numbers will come; decides how many ranges there are.
        capacity: how many may be in memory at once.
    """

    def __init__(self, folder: Path, low: int, high: int, expected: int, capacity: int) -> None:
        self._folder, self._capacity = folder, capacity
        # Twice as many as needed: ranges are never filled evenly.
        wanted = 1 + 2 * expected // capacity
        count = max(1, min(wanted, _MOST, high - low))
        self._edges = [low + (high - low) * i // count for i in range(count + 1)]
        own = Path(tempfile.mkdtemp(dir=folder))
        self._files = [own / f"{number}.keys" for number in range(count)]

    def add(self, keys: Keys) -> None:
        """Write numbers to their ranges; `keys` is sorted in place."""
        keys = rising(keys)
        cuts = np.searchsorted(keys, self._edges)
        for path, begin, end in zip(self._files, cuts[:-1], cuts[1:], strict=True):
            if end > begin:
                with path.open("ab") as file:
                    file.write(raw_bytes(keys[begin:end]))

    def runs(self) -> Iterator[Keys]:
        """All numbers, each once, in rising pieces; a file is removed when it was read."""
        for number, path in enumerate(self._files):
            if not path.exists():
                continue
            low, high = self._edges[number], self._edges[number + 1]
            count = path.stat().st_size // 8
            if count <= self._capacity:
                run = rising(np.fromfile(path, np.int64))
                path.unlink()
                yield run
            elif high - low == 1:
                # One number, many times.
                path.unlink()
                yield np.array([low])
            else:
                inner = KeyBuckets(self._folder, low, high, count, self._capacity)
                for piece in _pieces(path, self._capacity):
                    inner.add(piece)
                path.unlink()
                yield from inner.runs()


def rising(keys: Keys) -> Keys:
    """The same numbers in order, each once; `keys` itself is sorted in place."""
    keys.sort()
    fresh = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys if bool(fresh.all()) else keys[fresh]


def sorted_runs(
    pieces: Iterable[Keys], folder: Path, high: int, *, expected: int, capacity: int
) -> Iterator[Keys]:
    """The numbers of all pieces, from [0, high), each once, in rising runs."""
    buckets = KeyBuckets(folder, 0, high, expected, capacity)
    for piece in pieces:
        buckets.add(piece)
    yield from buckets.runs()


def _pieces(path: Path, size: int) -> Iterator[Keys]:
    with path.open("rb") as file:
        while len(piece := np.fromfile(file, np.int64, size)):
            yield piece

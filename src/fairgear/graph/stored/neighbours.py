"""The edges of a stored graph, sorted outside memory and written as neighbour lists."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairgear.streams import NpyWriter, npy_pieces, raw_bytes

# An edge as source · num_nodes + target.
Keys = NDArray[np.int64]
# Files of one division, at most; a range that is still too full is divided again.
_MOST_FILES = 256


def write_neighbours(
    folder: Path, runs: Iterable[Keys], num_nodes: int, piece: int
) -> tuple[dict[str, str], int]:
    """Write indptr.npy, indices.npy and edge_index.npy; returns their SHA-256 and the arc count.

    `runs` are the keys of both directions of every edge, or of every arc, rising; `piece` edges are
    in memory.
    """
    digests: dict[str, str] = {}
    indptr = np.zeros(num_nodes + 1, np.int64)
    with NpyWriter(folder / "indices.npy", np.int32) as writer:
        for run in runs:
            source = run // num_nodes
            first = int(source[0])
            degrees = np.bincount(source - first)
            indptr[first + 1 : first + 1 + len(degrees)] += degrees
            writer.append((run - source * num_nodes).astype(np.int32))
        digests["indices"] = writer.finish()
    np.cumsum(indptr, out=indptr)
    with NpyWriter(folder / "indptr.npy", np.int64) as writer:
        writer.append(indptr)
        digests["indptr"] = writer.finish()
    count = int(indptr[-1])
    with NpyWriter(folder / "edge_index.npy", np.int64, (count,)) as writer:
        for source in row_of_edges(indptr, piece):
            writer.append(source)
        for target in npy_pieces(folder / "indices.npy", np.int32, piece):
            writer.append(target)
        digests["edge_index"] = writer.finish(2)
    return digests, count


def sorted_runs(
    pieces: Iterable[Keys], folder: Path, high: int, *, expected: int, capacity: int
) -> Iterator[Keys]:
    """The numbers of all pieces, from [0, high), sorted and without repeats, in rising runs.

    About `expected` numbers come, of which `capacity` may be in memory; `folder` is for temporary
    files. The pieces are sorted in place.
    """
    buckets = _Buckets(folder, 0, high, expected, capacity)
    for piece in pieces:
        buckets.add(piece)
    yield from buckets.runs()


class _Buckets:
    """A file for each range that [low, high) is divided into; see `sorted_runs`."""

    def __init__(self, folder: Path, low: int, high: int, expected: int, capacity: int) -> None:
        self._folder, self._capacity = folder, capacity
        # Twice as many as needed: ranges are never filled evenly.
        wanted = 1 + 2 * expected // capacity
        count = max(1, min(wanted, _MOST_FILES, high - low))
        self._edges = [low + (high - low) * i // count for i in range(count + 1)]
        own = Path(tempfile.mkdtemp(dir=folder))
        self._files = [own / f"{number}.keys" for number in range(count)]

    def add(self, keys: Keys) -> None:
        """Write numbers to the files of their ranges."""
        keys = _sorted_unique(keys)
        cuts = np.searchsorted(keys, self._edges)
        for path, begin, end in zip(self._files, cuts[:-1], cuts[1:], strict=True):
            if end > begin:
                with path.open("ab") as file:
                    file.write(raw_bytes(keys[begin:end]))

    def runs(self) -> Iterator[Keys]:
        """All numbers; a file is removed once it was read."""
        for number, path in enumerate(self._files):
            if not path.exists():
                continue
            low, high = self._edges[number], self._edges[number + 1]
            count = path.stat().st_size // 8
            if count <= self._capacity:
                run = _sorted_unique(np.fromfile(path, np.int64))
                path.unlink()
                yield run
            elif high - low == 1:
                # One number, many times.
                path.unlink()
                yield np.array([low])
            else:
                inner = _Buckets(self._folder, low, high, count, self._capacity)
                with path.open("rb") as file:
                    while len(piece := np.fromfile(file, np.int64, self._capacity)):
                        inner.add(piece)
                path.unlink()
                yield from inner.runs()


def _sorted_unique(keys: Keys) -> Keys:
    keys.sort()
    fresh = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys if bool(fresh.all()) else keys[fresh]


def row_of_edges(indptr: NDArray[np.int64], piece: int) -> Iterator[NDArray[np.int64]]:
    """The row of each edge, `piece` edges at a time."""
    for begin in range(0, int(indptr[-1]), piece):
        end = min(begin + piece, int(indptr[-1]))
        first, last = np.searchsorted(indptr, [begin, end], side="right") - [1, 0]
        ends = np.clip(indptr[first : last + 1], begin, end)
        yield np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))

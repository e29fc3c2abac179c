"""Neighbour lists and edge list of a stored graph, written from its sorted edges as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairgear.graph.stored.key_buckets import Keys
from fairgear.npy_stream import NpyWriter, npy_pieces

Ints = NDArray[np.int64]


def write_neighbours(
    folder: Path, runs: Iterable[Keys], num_nodes: int, piece: int
) -> tuple[dict[str, str], int]:
    """Write indptr.npy, indices.npy and edge_index.npy; their SHA-256, and how many edges.

    Args:
        folder: where to write.
        runs: source · num_nodes + target of both directions of every edge, rising.
        num_nodes: rows.
        piece: edges in memory at once.
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
        for source in _sources(indptr, piece):
            writer.append(source)
        for target in npy_pieces(folder / "indices.npy", np.int32, piece):
            writer.append(target)
        digests["edge_index"] = writer.finish(2)
    return digests, count // 2


def _sources(indptr: Ints, piece: int) -> Iterator[Ints]:
    """The row of each edge, so many edges at a time."""
    for begin in range(0, int(indptr[-1]), piece):
        end = min(begin + piece, int(indptr[-1]))
        first, last = np.searchsorted(indptr, [begin, end], side="right") - [1, 0]
        ends = np.clip(indptr[first : last + 1], begin, end)
        yield np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))

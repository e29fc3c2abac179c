"""Similarity graphs: the rule that joins people whose rows of a table are alike.

Similarity is 1/(1 + Euclidean distance). Row i is joined to j where their similarity exceeds the
threshold times i's highest similarity to another row, or j's: by plain comparison of floats, as
the published graphs were made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from fairgear.compiled import in_chunks, threads
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.edges import undirected_edges
from fairgear.graph.similarity_kernel import (
    Floats,
    Integers,
    rows_above,
    rows_joined,
    squared_distances,
)
from fairgear.progress import bar, log

# 1.6 GB of pairs; a threshold that joins more says nothing about people.
MAX_PAIRS = 10**8
# Rows a thread takes at a time.
_CHUNK = 128
_TREE_CHUNK = 8192
# Edges are updated row by row, on one core, if at most this part of the rows has changed.
_FEW = 64
# Rows from which comparing every pair takes minutes.
_MANY = 100_000


@dataclass(frozen=True)
class SimilarityRule:
    """How a table becomes edges.

    Args:
        threshold: between 0 and 1, the share of a row's highest similarity that an edge must
            exceed.
        neighbors: None compares every pair, exactly, in time n². A number considers only that
            many nearest rows of each row, for tables of a million rows: an edge is lost where
            both its ends have more than that many neighbours, and none is added.
    """

    threshold: float
    neighbors: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            next_step = "use 0.6 or 0.7, as the published graphs do"
            raise ParameterError(
                "similarity threshold", self.threshold, "above 0, below 1", next_step
            )
        if self.neighbors is not None and self.neighbors < 1:
            allowed = "at least 1, or None for every pair"
            raise ParameterError("neighbors", self.neighbors, allowed, "use 50")

    def edges(self, table: Floats) -> Tensor:
        """Both directions of every edge, sorted."""
        return self.build(table).edge_index

    def build(self, table: Floats) -> SimilarityEdges:
        """The edges, with what is needed to update them after a change of few rows."""
        table = _checked(table)
        n = len(table)
        if self.neighbors is not None:
            pairs = _nearest_pairs(table, self.threshold, self.neighbors)
            return SimilarityEdges(self, undirected_edges(torch.from_numpy(pairs), n))
        if n >= _MANY:
            log(
                f"comparing every pair of {n:,} rows, some {n * n * 1e-9 * 6 / 60:.0f} minutes of "
                "one core; a number of neighbors is faster"
            )
        closest, nearest = np.full(n, np.inf), np.full(n, -1, dtype=np.int64)
        columns = np.ascontiguousarray(table.T)
        found: dict[int, tuple[Integers, Integers]] = {}

        def work(start: int, stop: int) -> None:
            left = MAX_PAIRS - sum(len(part[0]) for part in list(found.values()))
            found[start] = rows_above(
                columns, start, stop, self.threshold, closest, nearest, max(left, 0)
            )
            if len(found[start][0]) > left:
                raise GraphError(
                    f"similarity threshold {self.threshold}",
                    f"over {MAX_PAIRS:,} edges among {n:,} rows",
                    "a graph that fits into memory",
                    "raise the threshold, or scale the columns",
                )

        in_chunks(work, n, _CHUNK, "comparing rows")
        pairs = np.concatenate([np.stack(found[start]) for start in sorted(found)], axis=1)
        return SimilarityEdges(self, undirected_edges(torch.from_numpy(pairs), n), closest, nearest)


@dataclass(frozen=True, eq=False)
class SimilarityEdges:
    """The edges of one table, and each row's nearest other row."""

    rule: SimilarityRule
    edge_index: Tensor
    closest: Floats | None = None
    """Squared distance of each row to its nearest; None with `neighbors`."""
    nearest: Integers | None = None

    def after(self, table: Floats, rows: Integers) -> Tensor:
        """The edges of `table`, which differs only in `rows` from the one these were built for.

        Equal to building them again, but much cheaper for few rows: only these, and rows whose
        nearest row they are or become, are compared with all others.
        """
        if len(rows) == 0:
            return self.edge_index
        few = len(rows) <= max(len(table) // _FEW, 8)
        if self.closest is None or self.nearest is None or not few:
            return self.rule.edges(table)
        columns = np.ascontiguousarray(_checked(table).T)
        n = len(table)
        moved = np.zeros(n, dtype=np.bool_)
        moved[rows] = True
        closest = self.closest.copy()
        distances = np.empty((1, n))
        # Rows near a moved one may have another nearest row now.
        lost = np.flatnonzero(moved[self.nearest] | moved)
        if len(lost) > n // _FEW:
            return self.rule.edges(table)
        for row in rows.tolist():
            squared_distances(columns, row, row + 1, distances)
            np.minimum(closest, distances[0], out=closest)
        for row in lost.tolist():
            squared_distances(columns, row, row + 1, distances)
            closest[row] = distances.min()
        touched = np.flatnonzero(moved | (closest != self.closest))
        if len(touched) > n // 4:
            return self.rule.edges(table)
        marked = np.zeros(n, dtype=np.bool_)
        marked[touched] = True
        joined = np.stack(rows_joined(columns, touched, self.rule.threshold, closest, marked))
        kept = self.edge_index[:, ~torch.from_numpy(marked)[self.edge_index].any(dim=0)]
        fresh = undirected_edges(torch.from_numpy(joined), n)
        return _merged(kept, fresh, n)


def _merged(first: Tensor, second: Tensor, n: int) -> Tensor:
    """Two sorted lists of different edges merged, which is faster than sorting."""
    long, short = ((edges[0] * n + edges[1]).numpy() for edges in (first, second))
    place = np.searchsorted(long, short) + np.arange(len(short))
    old = np.ones(len(long) + len(short), dtype=np.bool_)
    old[place] = False
    merged = torch.empty(2, len(old), dtype=first.dtype)
    merged[:, torch.from_numpy(old)] = first
    merged[:, torch.from_numpy(place)] = second
    return merged


def similarity_edges(
    features: Floats | Tensor, threshold: float, *, neighbors: int | None = None
) -> Tensor:
    """Join the rows of a table that are alike: (2, E), both directions, sorted.

    Args:
        features: (n, c), finite; as they are, nothing is scaled.
        threshold: see `SimilarityRule`.
        neighbors: see `SimilarityRule`.
    """
    table = features.cpu().numpy() if isinstance(features, Tensor) else features
    return SimilarityRule(threshold, neighbors).edges(np.asarray(table, dtype=np.float64))


def _nearest_pairs(table: Floats, threshold: float, neighbors: int) -> Integers:
    """Pairs (2, m) that a row's own rule joins, among its `neighbors` nearest rows.

    A tree finds the candidates. Their distances are then summed again in the order of the
    columns, so that every pair kept here is one that comparing all pairs would keep. Ties for the
    last place are broken by the order of the rows.
    """
    n = len(table)
    tree = cKDTree(table)
    count = min(neighbors + 1, n)
    parts: list[Integers] = [np.empty((2, 0), dtype=np.int64)]
    with bar("finding the nearest rows", total=n) as shown:
        for start in range(0, n, _TREE_CHUNK):
            rows = np.arange(start, min(start + _TREE_CHUNK, n))
            _, found = tree.query(table[rows], k=list(range(1, count + 1)), workers=threads())
            parts.append(
                _nearest_joined(table, rows, np.asarray(found, np.int64), threshold, neighbors)
            )
            shown.advance(len(rows))
    return np.concatenate(parts, axis=1)


def _nearest_joined(
    table: Floats, rows: Integers, found: Integers, threshold: float, neighbors: int
) -> Integers:
    distances = np.zeros(found.shape)
    for column in table.T:
        difference = column[found] - column[rows][:, None]
        distances += difference * difference
    distances[found == rows[:, None]] = np.inf
    # Among many copies of a row the tree may miss the row itself; the farthest is then dropped.
    own = (found == rows[:, None]).any(axis=1)
    if found.shape[1] > neighbors:
        distances[~own, -1] = np.inf
    similarity = 1.0 / (1.0 + np.sqrt(distances))
    needed = threshold * similarity.max(axis=1, keepdims=True)
    i, place = np.nonzero(similarity > needed)
    return np.stack([rows[i], found[i, place]])


def _checked(table: Floats) -> Floats:
    what = "table for a similarity graph"
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] == 0:
        got, allowed = f"shape {table.shape}", "at least one row and one column"
        raise GraphError(what, got, allowed, "pass one row a person")
    if not np.isfinite(table).all():
        got, next_step = "NaN or infinite values", "impute or drop those rows"
        raise GraphError(what, got, "finite numbers", next_step)
    return np.ascontiguousarray(table, dtype=np.float64)

"""Similarity graphs: the rule that joins people whose rows of a table are alike.

Similarity is 1/(1 + Euclidean distance). Row i is joined to j where their similarity exceeds the
threshold times i's highest similarity to another row, or j's: by plain comparison of floats, as
the published graphs were made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from fairgear.compiled import in_chunks, threads
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.edges import changed_edges, undirected_edges
from fairgear.graph.similarity_kernel import (
    TILE,
    Floats,
    Integers,
    least_distances,
    points_joined,
    rows_above,
    rows_joined,
    rows_nearer,
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
        unit: a column and the number that it is divided by before rows are compared: rows hold a
            sensitive number as it is, whatever the scale of the others.

    Example:
        >>> import torch
        >>> from fairgear.graph import SimilarityRule
        >>> table = torch.tensor([[20.0], [22.0], [60.0], [61.0]], dtype=torch.float64)
        >>> SimilarityRule(threshold=0.7).edges(table.numpy()).tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
    """

    threshold: float
    neighbors: int | None = None
    unit: tuple[int, float] | None = None

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
        table = self.measured(_checked(table))
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
        lines = SortedRows.of(table)
        found: dict[int, tuple[Integers, Integers]] = {}

        def work(start: int, stop: int) -> None:
            left = MAX_PAIRS - sum(len(part[0]) for part in list(found.values()))
            found[start] = rows_above(
                lines.columns,
                lines.lead,
                lines.order,
                start,
                stop,
                self.threshold,
                closest,
                nearest,
                max(left, 0),
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
        edges = undirected_edges(torch.from_numpy(pairs), n)
        return SimilarityEdges(self, edges, lines, closest, nearest)

    def measured(self, table: Floats) -> Floats:
        """Rows with the column of `unit` divided by it."""
        if self.unit is None:
            return table
        column, size = self.unit
        table = table.copy()
        table[:, column] /= size
        return table


@dataclass(frozen=True, eq=False)
class SortedRows:
    """A table sorted by the column that spreads most, so that few rows need to be compared.

    Attributes:
        lead: that column.
        columns: (c, n), the table transposed and sorted by it.
        order: (n,), the row at each place.
        places: (n,), the place of each row.
    """

    lead: int
    columns: Floats
    order: Integers
    places: Integers

    @classmethod
    def of(cls, table: Floats) -> Self:
        """Of a checked table (n, c)."""
        with np.errstate(over="ignore", invalid="ignore"):
            lead = int(np.argmax(table.std(axis=0)))
        order = np.argsort(table[:, lead], kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return cls(lead, np.ascontiguousarray(table[order].T), order, places)


@dataclass(frozen=True, eq=False)
class SimilarityEdges:
    """The edges of one table, and each row's nearest other row."""

    rule: SimilarityRule
    edge_index: Tensor
    lines: SortedRows | None = None
    """The table; None with `neighbors`, as are the next two."""
    closest: Floats | None = None
    """Squared distance of each row to its nearest."""
    nearest: Integers | None = None

    def after(self, table: Floats, rows: Integers) -> Tensor:
        """The edges of `table`, which differs only in `rows` from the one these were built for.

        Equal to building them again, but much cheaper for few rows, see `changes`.
        """
        if len(rows) == 0:
            return self.edge_index
        found = self.changes(rows, table[rows])
        if found is None:
            return self.rule.edges(table)
        removed, added = map(torch.from_numpy, found)
        return changed_edges(self.edge_index, removed, added, len(table))

    def changes(self, rows: Integers, values: Floats) -> tuple[Integers, Integers] | None:
        """The edges lost and gained, each (2, m) and once, if `rows` had these `values` (m, c).

        Only these rows, and those whose nearest row they are or become, are compared with others.
        None where that would be no cheaper than building the edges again.
        """
        if self.lines is None or self.closest is None:
            return None
        if len(rows) == 0:
            return np.empty((2, 0), dtype=np.int64), np.empty((2, 0), dtype=np.int64)
        lines, n, few = self.lines, len(self.closest), max(len(self.closest) // _FEW, 8)
        columns, lead, places = lines.columns, lines.lead, lines.places
        values = self.rule.measured(_checked(values))
        begin, followers = self._followers
        lost = np.concatenate([followers[begin[row] : begin[row + 1]] for row in rows.tolist()])
        if len(rows) > few or len(lost) > few:
            return None
        # Rows near a moved one may have another nearest row now.
        lost = lost[~(lost[:, None] == rows).any(axis=1)]
        settled = np.concatenate([rows, lost])
        points = np.concatenate([values, columns[:, places[lost]].T])
        known = np.concatenate([np.full(len(rows), -1), places[lost]])
        barred = places[rows]
        least = least_distances(columns, lead, points, known, barred, values)
        nearer, distances = rows_nearer(
            columns, lead, self._tops, self._placed, barred, values, n // 4
        )
        if len(nearer) > n // 4 and n > few:
            return None
        gained, of_each = np.unique(nearer, return_inverse=True)
        nearest = np.full(len(gained), np.inf)
        np.minimum.at(nearest, of_each, distances)
        new = ~_among(lines.order[gained], np.sort(settled))
        touched = np.concatenate([settled, lines.order[gained[new]]])
        points = np.concatenate([points, columns[:, gained[new]].T])
        least = np.concatenate([least, nearest[new]])
        moved = (np.arange(len(touched)) < len(rows)) | (least != self.closest[touched])
        return self._differences(touched[moved], points[moved], least[moved])

    def _differences(
        self, touched: Integers, points: Floats, least: Floats
    ) -> tuple[Integers, Integers]:
        """The edges that the touched rows lose and gain at these points and nearest distances."""
        assert self.lines is not None
        lines, threshold, n = self.lines, self.rule.threshold, len(self.lines.order)
        needed = threshold * (1.0 / (1.0 + np.sqrt(least)))
        row, place = rows_joined(
            lines.columns,
            lines.lead,
            self._tops,
            self._placed,
            threshold,
            points,
            needed,
            lines.places[touched],
        )
        one, two = points_joined(points, needed)
        new = np.concatenate(
            [_keys(touched[row], lines.order[place], n), _keys(touched[one], touched[two], n)]
        )
        first, last = self._begin[touched], self._begin[touched + 1]
        other = self.edge_index[1].numpy()
        before = np.concatenate([other[i:j] for i, j in zip(first, last, strict=True)])
        old = _keys(np.repeat(touched, last - first), before, n)
        # An edge between two of them was met twice.
        old, new = np.sort(old), np.sort(new)
        old = old[np.append(True, old[1:] != old[:-1])[: len(old)]]
        gone, fresh = old[~_among(old, new)], new[~_among(new, old)]
        return np.stack(np.divmod(gone, n)), np.stack(np.divmod(fresh, n))

    @cached_property
    def _begin(self) -> Integers:
        """(n + 1,), where the edges of each row begin."""
        assert self.closest is not None
        return np.searchsorted(self.edge_index[0].numpy(), np.arange(len(self.closest) + 1))

    @cached_property
    def _followers(self) -> tuple[Integers, Integers]:
        """Where those begin whose nearest row each row is, and who they are."""
        assert self.nearest is not None
        order = np.argsort(self.nearest, kind="stable")
        begin = np.searchsorted(self.nearest[order], np.arange(len(order) + 1))
        return begin, order

    @cached_property
    def _placed(self) -> Floats:
        """`closest`, by place among the sorted rows."""
        assert self.closest is not None
        assert self.lines is not None
        return self.closest[self.lines.order]

    @cached_property
    def _tops(self) -> Floats:
        """The largest of them in each tile."""
        return np.maximum.reduceat(self._placed, np.arange(0, len(self._placed), TILE))


def _among(values: Integers, known: Integers) -> NDArray[np.bool_]:
    """Which values are among some sorted ones."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def _keys(first: Integers, second: Integers, n: int) -> Integers:
    """One number a pair, whichever end comes first."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys: Integers = low * n + high
    return keys


def similarity_edges(
    features: Floats | Tensor, threshold: float, *, neighbors: int | None = None
) -> Tensor:
    """Join the rows of a table that are alike: (2, E), both directions, sorted.

    Args:
        features: (n, c), finite; as they are, nothing is scaled.
        threshold: see `SimilarityRule`.
        neighbors: see `SimilarityRule`.

    Example:
        >>> import numpy as np
        >>> from fairgear.graph import similarity_edges
        >>> similarity_edges(np.array([[20.0], [22.0], [60.0], [61.0]]), threshold=0.7).tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
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

"""Cells: pairs of groups, and which of them the audited pairs are in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgear.graph import SensitiveGraph, groups_of
from fairgear.links.intervals import PairBootstrap
from fairgear.links.result import Cell
from fairgear.metrics import UNDEFINED, Estimate
from fairgear.metrics.inputs import Floats, Integers

SAME, DIFFERENT = "same", "different"


@dataclass(frozen=True, eq=False)
class PairGroups:
    """The groups of both ends of pairs.

    Attributes:
        first: (m,), of the first end; of a number, its range.
        second: (m,), of the second.
        directed: whether the order of the two means something.
    """

    first: Integers
    second: Integers
    directed: bool

    @classmethod
    def of(cls, graph: SensitiveGraph, ends: Integers) -> PairGroups:
        """Those of pairs of rows (2, m)."""
        groups = groups_of(graph).cpu().numpy()
        return cls(groups[ends[0]], groups[ends[1]], graph.directed)

    @property
    def different(self) -> Integers:
        """0 where both ends are of one group, 1 where they are not."""
        found: Integers = (self.first != self.second).astype(np.int64)
        return found

    @property
    def cells(self) -> tuple[list[tuple[int, int]], Integers]:
        """The pairs of groups that there are, and the number of each pair's."""
        low, high = self.first, self.second
        if not self.directed:
            low, high = np.minimum(low, high), np.maximum(low, high)
        width = int(max(low.max(), high.max())) + 1
        keys, number = np.unique(low * width + high, return_inverse=True)
        return [(int(key) // width, int(key) % width) for key in keys], number.astype(np.int64)


def cell_rows(
    groups: PairGroups,
    linked: Integers,
    predicted: Integers,
    flips: Floats | None,
    bootstrap: PairBootstrap,
) -> tuple[Cell, ...]:
    """Same and different groups, then every pair of groups.

    Args:
        groups: of both ends.
        linked: whether each pair is.
        predicted: whether it is predicted to be.
        flips: share of the worlds of everybody in which that flips; None without worlds.
        bootstrap: of all pairs.
    """
    hits = predicted.astype(np.float64)

    def row(name: str, first: int | None, second: int | None, among: np.ndarray) -> Cell:
        rate, true = (bootstrap.rate(hits, part) for part in (among, among & (linked == 1)))
        moved = Estimate(np.nan, UNDEFINED)
        if flips is not None:
            moved = bootstrap.rate(flips, among, by_region=True)
        return Cell(
            name=name,
            first=first,
            second=second,
            pairs=int(among.sum()),
            linked=int((among & (linked == 1)).sum()),
            rate=rate.value,
            interval=rate.interval,
            rate_linked=true.value,
            interval_linked=true.interval,
            delta_cf=moved.value,
            interval_cf=moved.interval,
        )

    known, number = groups.cells
    sides = [(SAME, groups.different == 0), (DIFFERENT, groups.different == 1)]
    each = [(one, number == at) for at, one in enumerate(known)]
    return (
        *(row(name, None, None, among) for name, among in sides),
        *(row(f"{a} {b}", a, b, among) for (a, b), among in each),
    )

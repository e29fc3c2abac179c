"""The terms in the logit of an edge: the likeness of two people, their degrees, their groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgear.causal.edges.kernel import Floats, Integers, likeness
from fairgear.registry import Registry

# With more groups than this, their pairs have no level of their own each.
_PAIRS_UP_TO = 5


def pair_of_groups(first: Integers | int, second: Integers) -> Integers:
    """The number of an unordered pair of groups: 0-0, 0-1, 1-1, 0-2 and so on."""
    high = np.maximum(first, second)
    found: Integers = high * (high + 1) // 2 + np.minimum(first, second)
    return found


@dataclass(frozen=True)
class Coefficients:
    """logit p_ij = intercept + slope·likeness_ij + degree·(h_i + h_j) + groups[pair(s_i, s_j)].

    h_i = log(1 + number of neighbours of i other than j): how active i is in the rest of the
    graph. If j counted too, the edge would explain itself.
    """

    intercept: float
    slope: float
    degree: float
    groups: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class EdgeTerms(ABC):
    """The terms of one kind of edge model, fitted to a table."""

    cosine: ClassVar[bool]

    columns: Integers
    """The columns of x that are compared; never the sensitive one, as groups have own terms."""
    scale: Floats
    """(len(columns),), the factor of each difference."""
    groups: int = 2
    """How many there are."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """Names, in the order of the columns of `design`."""

    @classmethod
    def of(cls, table: Floats, skip: int | None, groups: int = 2) -> EdgeTerms:
        """The terms for a table (n, d) sorted by id; `skip` is the sensitive column."""
        used = np.array([k for k in range(table.shape[1]) if k != skip], dtype=np.int64)
        return cls(used, np.ones(len(used)), groups)

    @property
    def _same(self) -> list[int]:
        """The pairs of one group."""
        return [group * (group + 3) // 2 for group in range(self.groups)]

    def prepared(self, table: Floats) -> Floats:
        """The table in the form that `likeness` takes: (columns, n), contiguous."""
        return np.ascontiguousarray(table[:, self.columns].T)

    def likeness(self, prepared: Floats, first: Integers, second: Integers) -> Floats:
        """The likeness of each pair."""
        result = np.empty(len(first))
        likeness(prepared, self.scale, self.cosine, first, second, result)
        return result

    @abstractmethod
    def design(self, alike: Floats, activity: Floats, groups: Integers) -> Floats:
        """(m, parameters): the regressors, from likeness, h_i + h_j and `pair_of_groups`."""

    @abstractmethod
    def coefficients(self, theta: Floats) -> Coefficients:
        """The parameters, in the order of `parameters`, by their role."""


class DistanceTerms(EdgeTerms):
    """1/(1 + distance), degrees, and a level for each pair of groups; 0-0 is the reference.

    Of many groups, pairs of the same group have one level, and all others the reference.

    Distance is the root mean squared difference over the columns, each divided by its standard
    deviation; otherwise the column with the largest unit would dominate, and more columns would
    mean less likeness. A typical pair is √2 apart. Constant columns are left out.
    """

    cosine = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """The levels of the pairs of groups come last."""
        return ("intercept", "likeness", "degree", *self._levels)

    @property
    def _levels(self) -> dict[str, list[int]]:
        """The pairs of groups that share each level; none has the reference, 0-0."""
        if self.groups > _PAIRS_UP_TO:
            return {"same group": self._same}
        ends = [(low, high) for high in range(self.groups) for low in range(high + 1)]
        return {f"groups {low}-{high}": [at] for at, (low, high) in enumerate(ends) if at}

    @classmethod
    def of(cls, table: Floats, skip: int | None, groups: int = 2) -> EdgeTerms:
        """The columns that vary, and by how much."""
        spread = table.std(axis=0)
        # The spread of a constant column can be a rounding error above 0.
        varies = np.ptp(table, axis=0) > 0
        used = np.array([k for k in np.flatnonzero(varies) if k != skip], dtype=np.int64)
        return cls(used, 1.0 / (spread[used] * np.sqrt(max(len(used), 1))), groups)

    def design(self, alike: Floats, activity: Floats, groups: Integers) -> Floats:
        """See `parameters`."""
        levels = [np.isin(groups, pairs) for pairs in self._levels.values()]
        return np.column_stack([np.ones(len(alike)), alike, activity, *levels])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, degree, *levels = theta.tolist()
        found = np.zeros(self.groups * (self.groups + 1) // 2)
        for pairs, level in zip(self._levels.values(), levels, strict=True):
            found[pairs] = level
        return Coefficients(intercept, slope, degree, tuple(found.tolist()))


class CosineTerms(EdgeTerms):
    """The paper's: the cosine of the raw features, and whether the groups are the same.

    An intercept and a slope are added; without them the graph could not be sparse.
    """

    cosine = True
    parameters = ("intercept", "cosine", "same group")

    def prepared(self, table: Floats) -> Floats:
        """People scaled to unit length; zero rows stay zero."""
        rows = table[:, self.columns]
        total = np.zeros(len(rows))
        for column in rows.T:
            total += column * column
        norm = np.sqrt(total)[:, None]
        unit = np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0)
        return np.ascontiguousarray(unit.T)

    def design(self, alike: Floats, activity: Floats, groups: Integers) -> Floats:
        """See `parameters`."""
        return np.column_stack([np.ones(len(alike)), alike, np.isin(groups, self._same)])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, same = theta.tolist()
        found = np.zeros(self.groups * (self.groups + 1) // 2)
        found[self._same] = same
        return Coefficients(intercept, slope, 0.0, tuple(found.tolist()))


EDGE_TERMS: Registry[type[EdgeTerms]] = Registry("edge model")
EDGE_TERMS.add("distance", DistanceTerms)
EDGE_TERMS.add("cosine", CosineTerms)

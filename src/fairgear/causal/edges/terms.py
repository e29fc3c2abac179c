"""The terms in the logit of an edge: the likeness of two people, their degrees, their groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgear.causal.edges.kernel import Floats, Integers, likeness
from fairgear.registry import Registry


@dataclass(frozen=True)
class Coefficients:
    """logit p_ij = intercept + slope·likeness_ij + degree·(h_i + h_j) + groups[s_i + s_j].

    h_i = log(1 + number of neighbours of i other than j): how active i is in the rest of the
    graph. If j counted too, the edge would explain itself.
    """

    intercept: float
    slope: float
    degree: float
    groups: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class EdgeTerms(ABC):
    """The terms of one kind of edge model, fitted to a table."""

    cosine: ClassVar[bool]
    parameters: ClassVar[tuple[str, ...]]
    """Names, in the order of the columns of `design`."""

    columns: Integers
    """The columns of x that are compared; never the sensitive one, as groups have own terms."""
    scale: Floats
    """(len(columns),), the factor of each difference."""

    @classmethod
    def of(cls, table: Floats, skip: int | None) -> EdgeTerms:
        """The terms for a table (n, d) sorted by id; `skip` is the sensitive column."""
        used = np.array([k for k in range(table.shape[1]) if k != skip], dtype=np.int64)
        return cls(used, np.ones(len(used)))

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
        """(m, parameters): the regressors of the logit, from likeness, h_i + h_j and s_i + s_j."""

    @abstractmethod
    def coefficients(self, theta: Floats) -> Coefficients:
        """The parameters, in the order of `parameters`, by their role."""


class DistanceTerms(EdgeTerms):
    """1/(1 + distance), degrees, and a level for each pair of groups; 0-0 is the reference.

    Distance is the root mean squared difference over the columns, each divided by its standard
    deviation; otherwise the column with the largest unit would dominate, and more columns would
    mean less likeness. A typical pair is √2 apart. Constant columns are left out.
    """

    cosine = False
    parameters = ("intercept", "likeness", "degree", "groups 0-1", "groups 1-1")

    @classmethod
    def of(cls, table: Floats, skip: int | None) -> EdgeTerms:
        """The columns that vary, and by how much."""
        spread = table.std(axis=0)
        # The spread of a constant column can be a rounding error above 0.
        varies = np.ptp(table, axis=0) > 0
        used = np.array([k for k in np.flatnonzero(varies) if k != skip], dtype=np.int64)
        return cls(used, 1.0 / (spread[used] * np.sqrt(max(len(used), 1))))

    def design(self, alike: Floats, activity: Floats, groups: Integers) -> Floats:
        """See `parameters`."""
        return np.column_stack([np.ones(len(alike)), alike, activity, groups == 1, groups == 2])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, degree, mixed, ones = theta.tolist()
        return Coefficients(intercept, slope, degree, (0.0, mixed, ones))


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
        return np.column_stack([np.ones(len(alike)), alike, groups != 1])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, same = theta.tolist()
        return Coefficients(intercept, slope, 0.0, (same, 0.0, same))


EDGE_TERMS: Registry[type[EdgeTerms]] = Registry("edge model")
EDGE_TERMS.add("distance", DistanceTerms)
EDGE_TERMS.add("cosine", CosineTerms)

"""The terms in the logit of an edge: the likeness of two people, their degrees, their groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.edges.kernel import Floats, Integers, likeness
from fairgear.registry import Registry

# With more groups than this, their pairs have no level of their own each.
_PAIRS_UP_TO = 5
# Ranges of a number, each with one bound of what it adds to a logit: see `EdgeTerms.lift`.
_RANGES = 32


def pair_of_groups(first: Integers | int, second: Integers) -> Integers:
    """The number of an unordered pair of groups: 0-0, 0-1, 1-1, 0-2 and so on."""
    high = np.maximum(first, second)
    found: Integers = high * (high + 1) // 2 + np.minimum(first, second)
    return found


@dataclass(frozen=True)
class Coefficients:
    """logit p_ij = intercept + slope·likeness_ij + degree·(h_i + h_j) + groups[pair(s_i, s_j)].

    Where the attribute is a number there are no `groups`, and the last term is
    ``difference·|z_i − z_j| + total·(z_i + z_j)``, z being s less its mean in standard deviations.

    h_i = log(1 + number of neighbours of i other than j): how active i is in the rest of the
    graph. If j counted too, the edge would explain itself.
    """

    intercept: float
    slope: float
    degree: float
    groups: tuple[float, ...]
    difference: float = 0.0
    total: float = 0.0

    def level(self, between: NDArray[Any]) -> Floats:
        """The last term, from what `EdgeTerms.between` gives."""
        if self.groups:
            levels: Floats = np.array(self.groups)[between]
            return levels
        found: Floats = self.difference * between[:, 0] + self.total * between[:, 1]
        return found

    def most(self, low: float, high: float, z: Floats) -> Floats:
        """The largest ``difference·|a − z|`` for a from low to high."""
        if self.difference < 0:
            return self.difference * np.maximum(np.maximum(low - z, z - high), 0.0)
        return self.difference * np.maximum(high - z, z - low)


@dataclass(frozen=True, eq=False)
class EdgeTerms(ABC):
    """The terms of one kind of edge model, fitted to a table."""

    cosine: ClassVar[bool]

    columns: Integers
    """The columns of x that are compared; never the sensitive one, as groups have own terms."""
    scale: Floats
    """(len(columns),), the factor of each difference."""
    groups: int = 2
    """How many there are; 0 where the attribute is a number."""
    code: tuple[float, float] = (0.0, 1.0)
    """The mean of a number, and its standard deviation."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """Names, in the order of the columns of `design`."""

    @classmethod
    def of(
        cls,
        table: Floats,
        skip: int | None,
        groups: int = 2,
        code: tuple[float, float] = (0.0, 1.0),
    ) -> EdgeTerms:
        """The terms for a table (n, d) sorted by id; `skip` is the sensitive column."""
        used = np.array([k for k in range(table.shape[1]) if k != skip], dtype=np.int64)
        return cls(used, np.ones(len(used)), groups, code)

    def coded(self, sens: NDArray[Any]) -> Floats:
        """A number in standard deviations from its mean."""
        mean, spread = self.code
        return np.asarray((sens - mean) / spread, dtype=np.float64)

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """The attributes of the pairs: `pair_of_groups`, or (m, 2), difference and sum."""
        if self.groups:
            return pair_of_groups(first, second)
        one, other = self.coded(first), self.coded(second)
        return np.column_stack([np.abs(one - other), one + other])

    def lift(
        self, theta: Floats, own: Floats, sens: NDArray[Any], new: NDArray[Any]
    ) -> tuple[Floats, Integers]:
        """What `likely_pairs` takes besides the likeness, and everybody's place in it.

        Of a number, values near each other share a place, whose logits are bounded from above:
        the list of likely pairs is then longer, and holds every pair all the same.

        Args:
            theta: the parameters.
            own: (n,), degree·h_i.
            sens: (n,), of the world.
            new: the values among them of those who change.
        """
        weights = self.coefficients(theta)
        if self.groups:
            levels = np.array(weights.groups)
            lift = np.empty((2, self.groups, len(own)))
            for group in range(self.groups):
                lift[0, group] = weights.intercept + own
                lift[1, group] = own + levels[pair_of_groups(group, sens)]
            return lift, sens
        z, values = self.coded(sens), np.unique(self.coded(new))
        parts = np.array_split(values, min(_RANGES, len(values)))
        own = own + weights.total * z
        lift = np.empty((2, len(parts), len(own)))
        lift[0] = weights.intercept + own
        for place, part in enumerate(parts):
            lift[1, place] = own + weights.most(float(part[0]), float(part[-1]), z)
        starts = np.array([part[0] for part in parts])
        return lift, np.maximum(np.searchsorted(starts, z, side="right") - 1, 0)

    @property
    def _same(self) -> list[int]:
        """The pairs of one group."""
        return [group * (group + 3) // 2 for group in range(self.groups)]

    def prepared(self, table: Floats) -> Floats:
        """The table in the form that `likeness` takes: (columns, n), contiguous."""
        return np.ascontiguousarray(table[:, self.columns].T)

    def points(self, prepared: Floats) -> Floats:
        """(n, columns): people as points, of which those are near each other that are alike."""
        return np.ascontiguousarray((prepared * self.scale[:, None]).T)

    def likeness(self, prepared: Floats, first: Integers, second: Integers) -> Floats:
        """The likeness of each pair."""
        result = np.empty(len(first))
        likeness(prepared, self.scale, self.cosine, first, second, result)
        return result

    @abstractmethod
    def design(self, alike: Floats, activity: Floats, between: NDArray[Any]) -> Floats:
        """(m, parameters): the regressors, from likeness, h_i + h_j and `between`."""

    @abstractmethod
    def coefficients(self, theta: Floats) -> Coefficients:
        """The parameters, in the order of `parameters`, by their role."""


class DistanceTerms(EdgeTerms):
    """1/(1 + distance), degrees, and a level for each pair of groups; 0-0 is the reference.

    Of many groups, pairs of the same group have one level, and all others the reference. A number
    has a difference and a sum in place of levels.

    Distance is the root mean squared difference over the columns, each divided by its standard
    deviation; otherwise the column with the largest unit would dominate, and more columns would
    mean less likeness. A typical pair is √2 apart. Constant columns are left out.
    """

    cosine = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """The levels of the pairs of groups come last."""
        rest = self._levels if self.groups else ("difference", "sum")
        return ("intercept", "likeness", "degree", *rest)

    @property
    def arc_levels(self) -> tuple[str, ...]:
        """Names of what the attributes of two people add to the logit of an arc."""
        if not self.groups:
            return ("difference", "number out", "number in")
        if self.groups > _PAIRS_UP_TO:
            return ("same group",)
        return tuple(f"groups {a}-{b}" for a, b in product(range(self.groups), repeat=2))[1:]

    def between_ends(self, source: NDArray[Any], target: NDArray[Any]) -> list[NDArray[Any]]:
        """The regressors of `arc_levels`, from the attributes of those ends."""
        if not self.groups:
            one, other = self.coded(source), self.coded(target)
            return [np.abs(one - other), one, other]
        if self.groups > _PAIRS_UP_TO:
            return [source == target]
        pairs = self.groups * source + target
        return [pairs == level for level in range(1, self.groups**2)]

    @property
    def _levels(self) -> dict[str, list[int]]:
        """The pairs of groups that share each level; none has the reference, 0-0."""
        if self.groups > _PAIRS_UP_TO:
            return {"same group": self._same}
        ends = [(low, high) for high in range(self.groups) for low in range(high + 1)]
        return {f"groups {low}-{high}": [at] for at, (low, high) in enumerate(ends) if at}

    @classmethod
    def of(
        cls,
        table: Floats,
        skip: int | None,
        groups: int = 2,
        code: tuple[float, float] = (0.0, 1.0),
    ) -> DistanceTerms:
        """The columns that vary, and by how much."""
        spread = table.std(axis=0)
        # The spread of a constant column can be a rounding error above 0.
        varies = np.ptp(table, axis=0) > 0
        used = np.array([k for k in np.flatnonzero(varies) if k != skip], dtype=np.int64)
        return cls(used, 1.0 / (spread[used] * np.sqrt(max(len(used), 1))), groups, code)

    def design(self, alike: Floats, activity: Floats, between: NDArray[Any]) -> Floats:
        """See `parameters`."""
        levels = list(between.T)
        if self.groups:
            levels = [np.isin(between, pairs) for pairs in self._levels.values()]
        return np.column_stack([np.ones(len(alike)), alike, activity, *levels])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, degree, *levels = theta.tolist()
        if not self.groups:
            return Coefficients(intercept, slope, degree, (), *levels)
        found = np.zeros(self.groups * (self.groups + 1) // 2)
        for pairs, level in zip(self._levels.values(), levels, strict=True):
            found[pairs] = level
        return Coefficients(intercept, slope, degree, tuple(found.tolist()))


class CosineTerms(EdgeTerms):
    """The paper's: the cosine of the raw features, and whether the groups are the same.

    A number has the difference of two people in place of that.

    An intercept and a slope are added; without them the graph could not be sparse.
    """

    cosine = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the attributes say comes last."""
        return ("intercept", "cosine", "same group" if self.groups else "difference")

    def prepared(self, table: Floats) -> Floats:
        """People scaled to unit length; zero rows stay zero."""
        rows = table[:, self.columns]
        total = np.zeros(len(rows))
        for column in rows.T:
            total += column * column
        norm = np.sqrt(total)[:, None]
        unit = np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0)
        return np.ascontiguousarray(unit.T)

    def design(self, alike: Floats, activity: Floats, between: NDArray[Any]) -> Floats:
        """See `parameters`."""
        agree = np.isin(between, self._same) if self.groups else between[:, 0]
        return np.column_stack([np.ones(len(alike)), alike, agree])

    def coefficients(self, theta: Floats) -> Coefficients:
        """See `parameters`."""
        intercept, slope, same = theta.tolist()
        if not self.groups:
            return Coefficients(intercept, slope, 0.0, (), same)
        found = np.zeros(self.groups * (self.groups + 1) // 2)
        found[self._same] = same
        return Coefficients(intercept, slope, 0.0, tuple(found.tolist()))


EDGE_TERMS: Registry[type[EdgeTerms]] = Registry("edge model")
EDGE_TERMS.add("distance", DistanceTerms)
EDGE_TERMS.add("cosine", CosineTerms)

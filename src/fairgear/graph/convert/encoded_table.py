"""A table in numbers: one float64 column a feature, the sensitive one among them as 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.convert.features import FeatureColumn, Floats

# Columns with this share of all variance decide by themselves who is similar to whom.
_NEARLY = 0.99


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Columns (n, d) by name, and which of them is the sensitive one."""

    values: Floats
    names: list[str]
    sens_column: int

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and spread of every column."""
        return self.values.mean(axis=0), self.values.std(axis=0)

    def standardized(
        self, mean: Floats | None = None, spread: Floats | None = None
    ) -> EncodedTable:
        """Every column but the sensitive one at mean 0 and variance 1; constant ones at 0.

        Args:
            mean, spread: those of another table, to measure by; this one's if not given.
        """
        if mean is None or spread is None:
            mean, spread = self.moments()
        scaled = (self.values - mean) / np.where(spread > 0, spread, 1.0)
        scaled[:, self.sens_column] = self.values[:, self.sens_column]
        return replace(self, values=scaled)

    def copies(self, codes: NDArray[np.int64]) -> list[str]:
        """The other columns that say the same as `codes` wherever these are known."""
        known = codes >= 0
        told = codes[known]
        found = []
        for place, name in enumerate(self.names):
            column = self.values[known, place]
            one, zero = column[told == 1], column[told == 0]
            apart = len(one) and len(zero) and one[0] != zero[0]
            same = apart and (one == one[0]).all() and (zero == zero[0]).all()
            if place != self.sens_column and same:
                found.append(name)
        return found

    def outweighing(self) -> list[str]:
        """The few columns that nearly all of the distance between rows comes from, if there are.

        Few is less than half of the columns that vary.
        """
        variance = self.values.var(axis=0)
        largest = np.argsort(-variance, kind="stable")
        needed = int(np.searchsorted(np.cumsum(variance[largest]), _NEARLY * variance.sum())) + 1
        few = needed < (variance > 0).sum() / 2
        return [self.names[place] for place in largest[:needed]] if few else []


def encode(features: Iterable[FeatureColumn], sensitive: str, notes: list[str]) -> EncodedTable:
    """The columns in order; what has one level only says nothing and is left out."""
    found: dict[str, Floats] = {}
    for column in features:
        encoded = column.encoded()
        if not encoded:
            notes.append(f"left out column {column.name!r}: everybody has the same value")
        taken = [name for name in encoded if name in found]
        if taken:
            raise GraphError(
                f"column {column.name!r}",
                f"a feature called {taken[0]!r}, which another column has made already",
                "names that differ",
                f"rename it, or leave it out with --drop {column.name}",
            )
        found |= encoded
    if set(found) <= {sensitive}:
        raise GraphError(
            "features",
            f"no column besides the sensitive one, {sensitive!r}",
            "at least one more",
            "add columns, or drop fewer",
        )
    names = list(found)
    return EncodedTable(np.stack(list(found.values()), axis=1), names, names.index(sensitive))

"""People of a graph in the columns and the words of the table that they came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph.attributes import Attribute
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity_mechanism import ColumnScale, SimilarityMechanism

Floats = NDArray[np.float64]
# A column with so many different numbers holds quantities: values between them are possible too.
_QUANTITIES = 50
# Decimals that a column of quantities may have.
_MOST_DECIMALS = 9
# Errors of values that were features of single precision, and of those that never were.
_SINGLE, _DOUBLE = 1e-7, 1e-13


@dataclass(frozen=True)
class OriginalColumn:
    """A column of the table.

    Attributes:
        name: in the table.
        features: what it became, as columns of `x`.
        levels: what it held, in order; empty for numbers.
    """

    name: str
    features: tuple[int, ...]
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class OriginalColumns:
    """From features back to the table.

    Attributes:
        each: the columns, without the sensitive attributes.
        attributes: the sensitive attributes.
        graph: whose people have the values that are possible.
    """

    each: tuple[OriginalColumn, ...]
    attributes: tuple[Attribute, ...]
    graph: SensitiveGraph

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Self:
        """Those of a graph; without a table, its features are the columns."""
        encoding = graph.get("encoding")
        attributes = graph.sensitive_attributes
        places = {name: place for place, name in enumerate(graph.feature_names)}
        if encoding is None:
            found = [
                OriginalColumn(name, (place,))
                for name, place in places.items()
                if place != graph.sens_column
            ]
        else:
            found = [
                OriginalColumn(
                    code.column, tuple(places[name] for name in code.features), code.levels or ()
                )
                for code in encoding.columns
                if code.column != encoding.sensitive
            ]
        return cls(tuple(found), attributes, graph)

    def __repr__(self) -> str:
        return f"OriginalColumns({', '.join(column.name for column in self.each)})"

    def values(self, x: Tensor) -> Floats:
        """(m, columns): numbers in the units of the table, or the place of the level.

        Numbers are as a causal model has them, also where nobody could have them; of a level that
        is coded by one number, the nearer of the two.
        """
        x = x.cpu().double()
        table = self._unscaled(x).numpy()
        columns = []
        for column in self.each:
            held = table[:, column.features]
            if not column.levels:
                columns.append(held[:, 0])
            elif len(column.features) == 1:
                columns.append((held[:, 0] > self._middle(column)).astype(np.float64))
            else:
                columns.append(held.argmax(axis=1).astype(np.float64))
        return np.stack(columns, axis=1) if columns else np.empty((len(x), 0))

    def possible(self, x: Tensor) -> Floats:
        """The same for people who could exist.

        A number becomes the nearest that somebody has or, in a column of quantities, one with as
        many decimals as theirs, between the least and the largest of them.
        """
        found = self.values(x)
        for place, column in enumerate(self.each):
            if not column.levels:
                feature, support = column.features[0], self._support[place]
                held = x[:, feature].cpu().numpy()
                found[:, place] = support.nearest(found[:, place], held)
                if self._is_exact and x.shape == self.graph.x.shape:
                    # Features of single precision may be alike where the table is not.
                    own = held == self.graph.x[:, feature].cpu().numpy()
                    real = support.shortened(self._table[:, feature])
                    found[:, place] = np.where(own, real, found[:, place])
        return found

    @property
    def translates(self) -> bool:
        """Whether the table is another than the features: False where there never was one."""
        return self._scale is not None

    def frame(self, x: Tensor, sens: Tensor) -> pd.DataFrame:
        """The people as rows of the table: the sensitive attributes first, in words."""
        columns = self.attribute_columns(sens)
        for place, column in enumerate(self.possible(x).T):
            of = self.each[place]
            if of.levels:
                names = np.array(of.levels, dtype=object)
                columns[of.name] = names[column.astype(np.int64)]
            else:
                whole = bool((column == np.round(column)).all()) and self._support[place].whole
                columns[of.name] = column.astype(np.int64) if whole else column
        return pd.DataFrame(columns)

    def attribute_columns(self, sens: Tensor) -> dict[str, NDArray[Any]]:
        """The sensitive attributes by name: words, or the number."""
        held, several = sens.cpu().numpy(), self.graph.attributes
        if self.graph.continuous:
            whole = all(bool((one == one.round()).all()) for one in (sens, self.graph.sens))
            return {self.attributes[0].name: held.astype(np.int64) if whole else held}
        codes = held[:, None] if several is None else several.codes(held)
        return {
            one.name: np.array(one.values, dtype=object)[codes[:, place]]
            for place, one in enumerate(self.attributes)
        }

    def _unscaled(self, x: Tensor) -> Tensor:
        """The features in the units of the table."""
        scale = self._scale
        if scale is None:
            return x
        encoding = self.graph.get("encoding")
        table = scale.inverse(x)
        if encoding is None or encoding.mean is None:
            return table
        return torch.from_numpy(encoding.unstandardized(table.numpy()))

    @cached_property
    def _scale(self) -> ColumnScale | None:
        encoding, mechanism = self.graph.get("encoding"), self.graph.mechanism
        if encoding is not None:
            found: ColumnScale = encoding.scale
            return found
        if isinstance(mechanism, SimilarityMechanism):
            return mechanism.scale
        held: ColumnScale | None = self.graph.get("scale")
        return held

    def _middle(self, column: OriginalColumn) -> float:
        """Between the two numbers that code the levels of a column."""
        ends = self.graph.x[:, column.features[0]].cpu().double()
        both = torch.zeros(2, self.graph.x.shape[1], dtype=torch.float64)
        both[:, column.features[0]] = torch.stack([ends.min(), ends.max()])
        return float(self._unscaled(both)[:, column.features[0]].mean())

    @cached_property
    def _is_exact(self) -> bool:
        """Whether the graph has kept its table, without the rounding of features."""
        return self.graph.raw is not None and self._scale is not None

    @cached_property
    def _table(self) -> Floats:
        """Everybody, in the units of the table."""
        raw, encoding = self.graph.raw, self.graph.get("encoding")
        if raw is None or not self._is_exact:
            table: Floats = self._unscaled(self.graph.x.cpu().double()).numpy()
            return table
        table = raw.cpu().numpy()
        return table if encoding is None else encoding.unstandardized(table)

    @cached_property
    def _support(self) -> list[_Support]:
        """Of each column; that of levels is never read."""
        x, table = self.graph.x.cpu().numpy(), self._table
        rounding = _DOUBLE if self._is_exact else _SINGLE
        return [
            _Support.of(x[:, of.features[0]], table[:, of.features[0]], rounding)
            for of in self.each
        ]


@dataclass(frozen=True, eq=False)
class _Support:
    """The numbers that real people have in a column: as features, and in its units."""

    features: NDArray[Any]
    values: Floats
    decimals: int | None

    @classmethod
    def of(cls, features: NDArray[Any], values: Floats, rounding: float) -> Self:
        """From everybody's; values are told apart as features are.

        `rounding` is how far a value may be off, as a share of the largest.
        """
        known, first = np.unique(features, return_index=True)
        units = values[first]
        # What is left of rounding is no decimal of the column.
        size = float(np.abs(units).max(initial=1.0))
        for decimals in range(_MOST_DECIMALS + 1):
            shorter = np.round(units, decimals)
            if np.abs(shorter - units).max(initial=0.0) <= rounding * size:
                return cls(known, shorter, decimals)
        return cls(known, units, None)

    @property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return bool((self.values == np.round(self.values)).all())

    def shortened(self, values: Floats) -> Floats:
        """With as many decimals as people's."""
        return values if self.decimals is None else np.round(values, self.decimals)

    def nearest(self, values: Floats, features: NDArray[Any]) -> Floats:
        """The possible numbers nearest to some, which are also given as features."""
        at = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
        real = self.features[at] == features
        if len(self.values) > _QUANTITIES:
            found = np.clip(values, self.values.min(), self.values.max())
            found = self.shortened(found)
        else:
            ordered = np.sort(self.values)
            found = ordered[np.searchsorted((ordered[1:] + ordered[:-1]) / 2, values)]
        return np.where(real, self.values[at], found)

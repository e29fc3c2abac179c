"""How features follow the sensitive attribute: a shift of means, or a map of quantiles.

Both are fitted on everybody without labels, move each person's row by itself, and leave the rows
of people whose attribute stays untouched, to the bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError
from fairgear.hashing import node_uniform
from fairgear.registry import Registry

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class FeatureModel(ABC):
    """What a person's row of the table would be, had their attribute been another."""

    name: ClassVar[str]
    how: ClassVar[str]
    """How the features are moved, to be read after "Features are moved"."""
    parts: ClassVar[tuple[str, ...]]
    """The names of what is learned."""

    _skip: int | None
    _learned: dict[str, Floats]

    def fit(self, table: Floats, sens: Integers, skip: int | None) -> Self:
        """Learn from a table (n, d) in canonical order; `skip` is the column that holds `sens`."""
        for group in (0, 1):
            if not (sens == group).any():
                what, got = "a graph to fit a causal model on", f"nobody in group {group}"
                raise GraphError(what, got, "people of both groups", "fit on the factual graph")
        self._skip = skip
        self._learned = self._learn(table, sens)
        return self

    def moved(
        self, table: Floats, before: Integers, after: Integers, node_id: Tensor, *, seed: int
    ) -> Floats:
        """The table, had the attribute been `after` instead of `before`."""
        result = table.copy()
        rows = np.flatnonzero(before != after)
        result[rows] = self._rows(table, rows, after, node_id, seed)
        if self._skip is not None:
            result[rows, self._skip] = after[rows]
        return result

    @abstractmethod
    def _learn(self, table: Floats, sens: Integers) -> dict[str, Floats]:
        """The arrays that `parts` names."""

    @abstractmethod
    def _rows(
        self, table: Floats, rows: Integers, after: Integers, node_id: Tensor, seed: int
    ) -> Floats:
        """The new values of `rows`, all of which change to `after`."""

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned: tensors and JSON-ready facts."""
        tensors = {key: torch.from_numpy(value) for key, value in self._learned.items()}
        return tensors, {"features": self.name, "skip": self._skip}

    @staticmethod
    def from_state(tensors: dict[str, Tensor], facts: dict[str, Any]) -> FeatureModel:
        """The model that `state` described."""
        model = FEATURE_MODELS[str(facts["features"])]()
        model._skip = facts["skip"]
        model._learned = {key: np.asarray(tensors[key].numpy()) for key in model.parts}
        return model


class FeatureShift(FeatureModel):
    """x + (s' − s)·(E[X | s = 1] − E[X | s = 0]), as in the paper."""

    name = "shift"
    how = "by the difference of the groups' means"
    parts = ("shift",)

    def _learn(self, table: Floats, sens: Integers) -> dict[str, Floats]:
        shift = table[sens == 1].mean(axis=0) - table[sens == 0].mean(axis=0)
        if self._skip is not None:
            shift[self._skip] = 0.0
        # Rounded to the last place of the largest value in its column. Integers plus the shift
        # are then exact, so two people shifted alike keep their exact distance, and rounding
        # breaks no tie of the similarity rule.
        largest = np.abs(table).max(axis=0) + np.abs(shift)
        unit = np.ldexp(1.0, np.frexp(largest)[1] - 52)
        return {"shift": np.round(shift / unit) * unit}

    def _rows(
        self, table: Floats, rows: Integers, after: Integers, node_id: Tensor, seed: int
    ) -> Floats:
        return table[rows] + np.where(after[rows] == 1, 1.0, -1.0)[:, None] * self._learned["shift"]


class FeatureQuantiles(FeatureModel):
    """Each value keeps its rank within the group and takes the other group's value of that rank.

    A value that several people share covers a range of ranks. A person's place in it is drawn by
    their id, once for all columns: a column of zeros and ones stays one, with the other group's
    share of ones, and equal columns stay equal. A unique value takes the middle of its range.
    Columns are mapped one by one, so the indicators of one category may no longer sum to one.
    """

    name = "quantile"
    how = "by a map of quantiles between the groups"
    parts = ("group 0", "group 1")

    def _learn(self, table: Floats, sens: Integers) -> dict[str, Floats]:
        return {f"group {group}": np.sort(table[sens == group], axis=0) for group in (0, 1)}

    def _rows(
        self, table: Floats, rows: Integers, after: Integers, node_id: Tensor, seed: int
    ) -> Floats:
        result = table[rows]
        noise = node_uniform(node_id[rows], seed, "quantile").numpy()
        for column in range(table.shape[1]):
            if column == self._skip:
                continue
            for group in (0, 1):
                mine = after[rows] == group
                source = self._learned[f"group {1 - group}"][:, column]
                target = self._learned[f"group {group}"][:, column]
                values = result[mine, column]
                low = np.searchsorted(source, values, side="left")
                high = np.searchsorted(source, values, side="right")
                place = np.where(high - low > 1, noise[mine], 0.5)
                rank = (low + place * (high - low)) / len(source)
                at = np.minimum((rank * len(target)).astype(np.int64), len(target) - 1)
                result[mine, column] = target[at]
        return result


FEATURE_MODELS: Registry[type[FeatureModel]] = Registry("feature model")
FEATURE_MODELS.add("shift", FeatureShift)
FEATURE_MODELS.add("quantile", FeatureQuantiles)

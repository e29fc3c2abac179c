"""The interface of feature models: what would a row be, had the attribute been another?

They are fitted without labels, move each person's row by itself, and leave the rows of people
whose attribute stays untouched, to the bit.
"""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.features.along import Knots, cumulative_shares
from fairgear.causal.features.columns import Columns
from fairgear.causal.features.levels import coupled, levels_of, set_levels, shares
from fairgear.causal.features.small_cells import filled
from fairgear.errors import FileError, GraphError
from fairgear.hashing import node_uniform
from fairgear.registry import Registry

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# The attribute of people: groups, int64, or numbers, float64.
Values = NDArray[Any]
# One uniform number for each of the people moved, by the name of what it is for.
Noise = Callable[[str], Floats]
# A column of at most so many values takes only these: a share of a step would be nobody's value.
FEW = 12


class FeatureModel(ABC):
    """What a person's row of the table would be, had their attribute been another.

    A person's new row depends on their own row, their own noise and what was fitted, never on who
    is moved alongside. The values of the attribute are cells, numbered from 0, or a number.

    Args:
        resolving: columns, or categories, that keep their values.

    Example:
        >>> from fairgear.causal import FEATURE_MODELS, feature_model
        >>> sorted(FEATURE_MODELS)
        ['gaussian', 'location-scale', 'quantile', 'sequential', 'shift']
        >>> feature_model("quantile").resolving
        ()
    """

    name: str
    how: str
    """How the features are moved, to be read after "Features are moved"."""
    how_along: ClassVar[str] = ""
    """The same where the attribute is a number and not a group, if other words are needed."""
    composes: ClassVar[bool] = False
    """Whether s → s' → s'' moves numbers as s → s'' does, so that s → s' → s leads back.

    Where values are shared, a draw decides who gets which of the other cell, so no model
    leads back in categories.
    """

    _columns: Columns | None = None
    _kept: list[int]
    _cells: int
    """How many; 0 where the attribute is a number."""
    _ends: Floats
    _few: list[int]
    _learned: dict[str, NDArray[Any]]

    def __init__(self, resolving: Sequence[str] = ()) -> None:
        self.resolving = tuple(resolving)

    def is_like(self, name: str) -> bool:
        """Whether it is the model of that name with the arguments that it has by default."""
        return self.name == name and self._arguments() == FEATURE_MODELS[name]()._arguments()

    @property
    def identity(self) -> str:
        """Its name, and its arguments where they are not the default ones."""
        if self.name in FEATURE_MODELS and self.is_like(self.name):
            return self.name
        return f"{self.name} {json.dumps(self._arguments(), sort_keys=True)}"

    @property
    def fitted(self) -> bool:
        """Whether `fit` was called."""
        return self._columns is not None

    @property
    def columns(self) -> Columns:
        """Those that the model was fitted on."""
        assert self._columns is not None, "fit comes first"
        return self._columns

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences to be read with every result, besides how the features are moved."""
        if not self.resolving:
            return ()
        return (f"These keep their values, as requested: {', '.join(self.resolving)}.",)

    @property
    def most_columns(self) -> int | None:
        """The widest table that it is made for, where its work grows fast; None for any."""
        return None

    def fit(
        self, table: Floats, sens: Values, columns: Columns, people: Mask | None = None
    ) -> Self:
        """Learn from a table (n, d) in canonical order.

        `people` are those to learn from, everybody if not given. The ends of a column are those
        of the whole table.
        """
        if self.most_columns is not None and table.shape[1] > self.most_columns:
            got = f"{table.shape[1]:,} columns"
            step = "leave columns out (--drop), or use another, such as causal=quantile"
            what = f"features for features={self.name!r}"
            raise GraphError(what, got, f"at most {self.most_columns:,}", step)
        learners = sens if people is None else sens[people]
        what = "a graph to fit a causal model on" if people is None else "people"
        step = "fit on the factual graph"
        cell_count = 0 if is_number(sens) else max(2, int(sens.max(initial=0)) + 1)
        for cell in range(cell_count):
            # A small group of several attributes gets rows; see `filled`.
            if not columns.crossed and not (learners == cell).any():
                raise GraphError(what, f"nobody in group {cell}", "people of both groups", step)
        if not cell_count and len(np.unique(learners)) < 2:
            got = "one value of the attribute for everybody"
            raise GraphError(what, got, "people of different values", step)
        self._columns = columns
        self._kept = columns.places(self.resolving, "resolving columns")
        self._set_cells(cell_count)
        self._ends = np.stack([table.min(axis=0), table.max(axis=0)])
        self._few = [k for k, column in enumerate(table.T) if len(np.unique(column)) <= FEW]
        rows = table if people is None else table[people]
        if columns.crossed:
            rows, learners = filled(rows, learners, columns, self._few)
        self._learned = self._learn(rows, learners)
        return self

    def moved(
        self, table: Floats, before: Values, after: Values, node_id: Tensor, *, seed: int
    ) -> Floats:
        """The table, had the attribute been `after` instead of `before`."""
        result = table.copy()
        rows = np.flatnonzero(before != after)
        ids, old = node_id[torch.from_numpy(rows)], table[rows]
        new = self._rows(
            old, before[rows], after[rows], lambda name: node_uniform(ids, seed, name).numpy()
        )
        new[:, self._kept] = old[:, self._kept]
        skip = self.columns.skip
        if skip is not None:
            new[:, skip] = after[rows]
        result[rows] = new
        return result

    def _set_cells(self, count: int) -> None:
        self._cells = count
        if self.how_along:
            self.how = type(self).how if count else self.how_along

    @abstractmethod
    def _learn(self, table: Floats, cells: Values) -> dict[str, NDArray[Any]]:
        """What is learned, by name."""

    @abstractmethod
    def _rows(self, old: Floats, before: Values, after: Values, noise: Noise) -> Floats:
        """New rows for people all of whom change. Kept columns and the attribute's may differ."""

    def _arguments(self) -> dict[str, Any]:
        """The constructor's arguments, JSON-ready."""
        return {"resolving": list(self.resolving)}

    @classmethod
    def _of_arguments(cls, arguments: dict[str, Any]) -> Self:
        return cls(**arguments)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned: tensors and JSON-ready facts."""
        learned = {"ends": self._ends, **self._learned}
        tensors = {key: torch.from_numpy(np.ascontiguousarray(v)) for key, v in learned.items()}
        return tensors, {
            "features": self.name,
            "arguments": self._arguments(),
            "columns": self.columns.to_dict(),
            "cells": self._cells,
            "few": self._few,
        }

    @staticmethod
    def from_state(tensors: dict[str, Tensor], facts: dict[str, Any]) -> FeatureModel:
        """The model that `state` described."""
        if facts["features"] not in (*FEATURE_MODELS, "dosed"):
            got, step = f"features {facts['features']!r}", "fit it again, with DowhyFeatures(model)"
            raise FileError("a saved causal model", got, ", ".join(FEATURE_MODELS), step)
        if facts["features"] == "dosed":
            from fairgear.causal.features.dose import Dosed

            return Dosed(FeatureModel.from_state(tensors, facts["of"]), facts["share"])
        model = FEATURE_MODELS[str(facts["features"])]._of_arguments(dict(facts["arguments"]))
        model._restore(tensors, facts)
        return model

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._columns = Columns.from_dict(facts["columns"])
        self._kept = self._columns.places(self.resolving, "resolving columns")
        self._set_cells(int(facts["cells"]))
        self._few = list(facts["few"])
        self._learned = {key: np.asarray(value.numpy()) for key, value in tensors.items()}
        self._ends = self._learned.pop("ends")


class CellModel(FeatureModel):
    """A model of numbers cell by cell; the level of a category follows its law in the cell.

    Along an attribute that is a number, laws follow lines between knots.
    """

    def _learn(self, table: Floats, cells: Values) -> dict[str, NDArray[Any]]:
        if not self._cells:
            return self._learn_along(table, cells) | self._learn_levels(table, cells)
        laws: dict[str, NDArray[Any]] = {}
        for title, group in self._titled():
            levels = levels_of(table, group, self._ends)
            laws[f"levels of {title}"] = shares(levels, cells, len(group), self._cells)
        return self._learn_numbers(table, cells) | laws

    def _learn_levels(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        if not self.columns.categories:
            return {}
        knots = Knots.of(sens)
        laws: dict[str, NDArray[Any]] = {"knots of levels": knots.at}
        for title, group in self._titled():
            levels = levels_of(table, group, self._ends)
            law = cumulative_shares(levels, len(group), knots.weights(sens))
            laws[f"levels of {title}"] = np.diff(law, axis=1, prepend=0.0)
        return laws

    def _rows(self, old: Floats, before: Values, after: Values, noise: Noise) -> Floats:
        new = (self._numbers if self._cells else self._along)(old, before, after, noise)
        for title, group in self._titled():
            law = self._learned[f"levels of {title}"]
            if self._cells:
                own, other = law[before], law[after]
            else:
                knots = Knots(self._learned["knots of levels"])
                own, other = knots.mixed(law, before), knots.mixed(law, after)
            levels = levels_of(old, group, self._ends)
            levels = coupled(levels, own, other, noise(f"category {title}"))
            set_levels(new, levels, group, self._ends)
        return new

    @abstractmethod
    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        """What is learned of columns of numbers."""

    @abstractmethod
    def _numbers(self, old: Floats, before: Integers, after: Integers, noise: Noise) -> Floats:
        """New rows, of which the columns of numbers are used."""

    def _learn_along(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        """The same as `_learn_numbers` where the attribute is a number."""
        what, step = f"sensitive attribute for features={self.name!r}", "use another feature model"
        raise GraphError(what, "a number", "groups", step)

    def _along(self, old: Floats, before: Floats, after: Floats, noise: Noise) -> Floats:
        """The same as `_numbers` where the attribute is a number; `fit` refuses one without it."""
        raise NotImplementedError

    def _titled(self) -> list[tuple[str, tuple[int, ...]]]:
        return list(zip(self.columns.titles, self.columns.categories, strict=True))

    @property
    def _numeric(self) -> list[int]:
        """The columns of numbers that move."""
        aside = {c for group in self.columns.categories for c in group} | set(self._kept)
        return [k for k in range(len(self.columns.names)) if k not in aside | {self.columns.skip}]


def is_number(sens: Values) -> bool:
    """Whether an attribute is a number, by the kind of its values."""
    return bool(sens.dtype.kind == "f")


def feature_model(features: str | FeatureModel) -> FeatureModel:
    """A feature model to be fitted, by name or like one that is given.

    Example:
        >>> from fairgear.causal import feature_model
        >>> feature_model("quantile").name
        'quantile'
    """
    return FEATURE_MODELS[features]() if isinstance(features, str) else copy.copy(features)


FEATURE_MODELS: Registry[type[FeatureModel]] = Registry("feature model")

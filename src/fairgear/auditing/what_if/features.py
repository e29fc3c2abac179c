"""The features of one person in several worlds, in the columns and units of the data."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.what_if.ego import short
from fairgear.auditing.what_if.records import Column
from fairgear.graph import SensitiveGraph
from fairgear.graph.tables.original import OriginalColumns
from fairgear.metrics.inputs import Floats


class Features:
    """From rows of `x` to values of the columns that people know."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self.graph = graph
        self.original = OriginalColumns.of(graph)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, and the ends of those that are numbers."""
        x = self.graph.x
        ends = self.original.possible(torch.stack([x.min(dim=0).values, x.max(dim=0).values]))
        return tuple(
            Column(one.name, math.nan, math.nan, one.levels)
            if one.levels
            else Column(one.name, short(values.min()), short(values.max()))
            for one, values in zip(self.original.each, ends.T, strict=True)
        )

    def values(self, row: int, x: Tensor) -> Floats:
        """(1 + m, columns): the factual values of a person, then those of other features (m, d).

        What did not move is exactly as it was, and what moved is as the model read it.
        """
        before = self.graph.x[row : row + 1].cpu()
        found = self.original.values(torch.cat([before, x.to(before.dtype)]))
        found[0] = self.original.possible(before)[0]
        stayed = (x.to(before.dtype) == before).numpy()
        for place, column in enumerate(self.original.each):
            same = stayed[:, list(column.features)].all(axis=1)
            found[1:, place] = np.where(same, found[0, place], found[1:, place])
        return found

    def words(self, place: int, value: float) -> str:
        """A value of a column as people read it."""
        levels = self.original.each[place].levels
        return levels[int(value)] if levels else f"{value:.6g}"

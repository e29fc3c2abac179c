"""People whose sensitive attribute is a number, and a map along it that is written out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph
from fairgear.causal import FEATURE_MODELS, Columns, FeatureModel
from fairgear.graph import Attributes, undirected_edges

Floats = NDArray[np.float64]


def aged(n: int = 300, seed: int = 0, strength: float = 1.0) -> SensitiveGraph:
    """Ages in column 1, which move columns 0 and 2; friends of like age; y follows column 0."""
    draw = torch.Generator().manual_seed(seed)
    age = (40 + 12 * torch.randn(n, generator=draw)).double().float()
    x = torch.randn(n, 5, generator=draw)
    y = (x[:, 0] + 0.5 * torch.randn(n, generator=draw) > 0).long()
    z = (age - 40) / 12
    x[:, 0] += strength * z
    x[:, 2] -= 2 * strength * z
    x[:, 1] = age
    one, other = torch.randint(n, (2, 6 * n), generator=draw)
    near = (z[one] - z[other]).abs() < 0.7
    part = torch.arange(n) % 5
    return SensitiveGraph(
        x,
        undirected_edges(torch.stack([one, other])[:, near], n),
        y,
        age.double(),
        sens_column=1,
        attributes=Attributes.number("age"),
        node_id=7 * torch.randperm(n, generator=draw) + 3,
        train_mask=part < 3,
        val_mask=part == 3,
        test_mask=part == 4,
    )


class Slope(FeatureModel):
    """x + (s' − s) · slope, the slope of least squares, column by column."""

    name = "slope"
    how = "along lines"
    composes = True

    def fit(self, table: Floats, sens: Any, columns: Columns, people: Any = None) -> Slope:
        who = np.ones(len(sens), dtype=bool) if people is None else people
        self._columns, self._kept, self._cells, self._few = columns, [], 0, []
        self._ends = np.stack([table.min(axis=0), table.max(axis=0)])
        self._learned = {"slope": np.array([np.polyfit(sens[who], c[who], 1)[0] for c in table.T])}
        return self

    def _learn(self, table: Floats, cells: Any) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def _rows(self, old: Floats, before: Any, after: Any, noise: Any) -> Floats:
        found: Floats = old + (after - before)[:, None] * self._learned["slope"]
        return found


@contextmanager
def known_by_name() -> Iterator[None]:
    """`Slope` among the feature models."""
    FEATURE_MODELS._entries["slope"] = Slope
    try:
        yield
    finally:
        del FEATURE_MODELS._entries["slope"]


def moved(graph: SensitiveGraph, sens: torch.Tensor, slope: Floats) -> SensitiveGraph:
    """The graph, had everybody these values; edges stay."""
    x = graph.x.double() + (sens - graph.sens)[:, None] * torch.from_numpy(slope)
    x[:, 1] = sens.float().double()
    return graph.replace(x=x.float(), sens=sens.float().double())

"""Graphs of people whose sensitive attribute is a number, and a feature model for it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.causal.features import Columns, FeatureModel
from fairgear.graph import SimilarityRule, similarity_graph, split, undirected_edges

Floats = NDArray[np.float64]
BIG = 2**53


class Slope(FeatureModel):
    """x + (s' − s)·slope, with a slope that is given by the number of the column."""

    name = "slope of a test"
    how = "in proportion to a number"
    composes = True

    def fit(
        self,
        table: Floats,
        sens: NDArray[Any],
        columns: Columns,
        people: NDArray[np.bool_] | None = None,
    ) -> Self:
        self._columns = columns
        return self

    def moved(
        self,
        table: Floats,
        before: NDArray[Any],
        after: NDArray[Any],
        node_id: Tensor,
        *,
        seed: int,
    ) -> Floats:
        rows = np.flatnonzero(before != after)
        result = table.copy()
        result[rows] += (after - before)[rows, None] * (0.03 * np.arange(1, table.shape[1] + 1))
        if self.columns.skip is not None:
            result[rows, self.columns.skip] = after[rows]
        return result

    def _learn(self, table: Floats, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {}

    def _rows(self, old: Floats, before: Any, after: Any, noise: Any) -> Floats:
        return old

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {}, {"features": self.name, "arguments": {}, "columns": self.columns.to_dict()}

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._columns = Columns.from_dict(facts["columns"])


def ages(n: int, rng: np.random.Generator) -> Floats:
    """Whole and other numbers, some of which several people share."""
    drawn: Floats = np.where(rng.random(n) < 0.5, rng.integers(20, 70, n), rng.uniform(20, 70, n))
    return drawn


def aged_graph(n: int = 150, seed: int = 0, **links: Any) -> SensitiveGraph:
    """People linked to those of their age, with the age in column 0 and ids beyond 2⁵³."""
    rng = np.random.default_rng(seed)
    age = ages(n, rng)
    x = np.column_stack([age, rng.normal(size=(n, 2)) + age[:, None] / 20])
    pairs = rng.integers(0, n, (2, 8 * n))
    apart = np.abs(age[pairs[0]] - age[pairs[1]])
    pairs = pairs[:, rng.random(8 * n) < np.exp(-apart / 8)]
    edges = undirected_edges(torch.from_numpy(pairs), n)
    if links.get("directed"):
        kept = torch.from_numpy(rng.random(edges.shape[1]) < 0.6)
        edges = edges[:, kept]
    weighted = links.pop("weighted", False)
    both = torch.from_numpy(np.exp(rng.normal(size=(n, n)) / 3))
    both = both if links.get("directed") else both + both.T
    part = torch.arange(n) % 3
    graph = SensitiveGraph(
        torch.from_numpy(x).float(),
        edges,
        torch.from_numpy(rng.integers(0, 2, n)),
        torch.from_numpy(age),
        sens_kind="continuous",
        sens_column=0,
        node_id=torch.arange(n) * 3 + BIG,
        edge_weight=both[edges[0], edges[1]] if weighted else None,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
        **links,
    )
    return graph.permute(torch.from_numpy(rng.permutation(n)))


def aged_table(n: int = 90, seed: int = 0, neighbors: int | None = None) -> SensitiveGraph:
    """A graph built from a table with the age among its columns, with ids out of order."""
    rng = np.random.default_rng(seed)
    age = ages(n, rng)
    raw = np.stack([rng.integers(0, 30, n), age, 5 * rng.normal(size=n) + age / 3], axis=1)
    graph = similarity_graph(
        torch.from_numpy(raw),
        torch.from_numpy(rng.integers(0, 2, n)),
        torch.from_numpy(age),
        rule=SimilarityRule(0.7, neighbors),
        sens_column=1,
        feature_names=["a", "age", "b"],
        node_id=torch.from_numpy(rng.permutation(n)) + 2**60,
        sens_kind="continuous",
    )
    return split(graph)

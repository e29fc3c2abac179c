"""A published table as a graph, joined by similarity or by published edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd
import torch
from torch import Tensor

from fairgear.graph import ColumnScale, SensitiveGraph, SimilarityRule, similarity_graph
from fairgear.graph.similarity_mechanism import cached_edges


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a table, unscaled, its label and its sensitive column."""

    raw: Tensor
    """Every column but the label and the dropped ones, float64."""
    y: Tensor
    sens: Tensor
    sens_column: int
    feature_names: list[str]

    @classmethod
    def of(
        cls, frame: pd.DataFrame, *, label: str, sensitive: str, dropped: Sequence[str] = ()
    ) -> Self:
        """From a frame of numbers; the order of the columns is kept."""
        features = frame.drop(columns=[label, *dropped])
        names = [str(name) for name in features.columns]
        return cls(
            raw=torch.from_numpy(features.to_numpy("float64", copy=True)),
            y=torch.from_numpy(frame[label].to_numpy("int64", copy=True)),
            sens=torch.from_numpy(frame[sensitive].to_numpy("int64", copy=True)),
            sens_column=names.index(sensitive),
            feature_names=names,
        )

    def by_similarity(self, rule: SimilarityRule, **fields: Any) -> SensitiveGraph:
        """The graph with the edges that `rule` gives the unscaled columns."""
        return similarity_graph(
            self.raw,
            self.y,
            self.sens,
            rule=rule,
            sens_column=self.sens_column,
            feature_names=self.feature_names,
            join=cached_edges,
            **fields,
        )

    def with_edges(self, edge_index: Tensor, **fields: Any) -> SensitiveGraph:
        """The graph with edges that were published with the table."""
        return SensitiveGraph(
            ColumnScale.of(self.raw, self.sens_column)(self.raw),
            edge_index,
            self.y,
            self.sens,
            sens_column=self.sens_column,
            feature_names=self.feature_names,
            **fields,
        )

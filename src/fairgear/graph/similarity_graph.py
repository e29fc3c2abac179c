"""A graph built from a table: it carries the table and the rule, which make its counterfactuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairgear.graph.scaling import ColumnScale
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity import SimilarityRule


@dataclass(frozen=True, eq=False)
class SimilarityMechanism:
    """What a graph built from a table keeps beside `raw`: how features and edges follow from it."""

    rule: SimilarityRule
    scale: ColumnScale


def similarity_graph(
    raw: Tensor,
    y: Tensor | None,
    sens: Tensor,
    *,
    rule: SimilarityRule,
    sens_column: int | None,
    feature_names: Sequence[str],
    edge_index: Tensor | None = None,
    **fields: Any,
) -> SensitiveGraph:
    """The graph of a table.

    Args:
        raw: the columns (n, d), float64, unscaled, the sensitive one among them as 0 and 1.
        y: labels, −1 where unknown.
        sens: the sensitive attribute.
        rule: joins the rows.
        sens_column: the column of `raw` that holds `sens`, or None.
        feature_names: one a column.
        edge_index: what the rule gives for `raw`, where it is known already.
        fields: further ones of `SensitiveGraph`, such as `name` and `node_id`.
    """
    raw = raw.to(torch.float64)
    scale = ColumnScale.of(raw, sens_column)
    return SensitiveGraph(
        scale(raw),
        rule.edges(raw.cpu().numpy()) if edge_index is None else edge_index,
        y,
        sens,
        sens_column=sens_column,
        feature_names=feature_names,
        raw=raw,
        mechanism=SimilarityMechanism(rule, scale),
        **fields,
    )

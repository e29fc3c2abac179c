"""A graph built from a table: it carries the table and the rule, which make its counterfactuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairgear.graph.canonical import rows_by_id
from fairgear.graph.scaling import ColumnScale
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity import SimilarityRule
from fairgear.graph.similarity_kernel import Floats
from fairgear.graph.validation import check_node_ids


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
    node_id: Tensor | None = None,
    join: Callable[[Floats, SimilarityRule], Tensor] | None = None,
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
        node_id: row numbers if not given.
        join: gives `rule.edges(table)` by other means, such as from a cache.
        fields: further ones of `SensitiveGraph`, such as `name`.
    """
    raw = raw.to(torch.float64)
    node_id = torch.arange(len(raw)) if node_id is None else node_id
    check_node_ids(node_id, len(raw))
    # By id: which of several rows at the same distance are nearest depends on their order.
    order = rows_by_id(node_id)
    table = raw[order].numpy()
    joined = rule.edges(table) if join is None else join(table, rule)
    scale = ColumnScale.of(raw, sens_column)
    return SensitiveGraph(
        scale(raw),
        order[joined],
        y,
        sens,
        sens_column=sens_column,
        feature_names=feature_names,
        node_id=node_id,
        raw=raw,
        mechanism=SimilarityMechanism(rule, scale),
        **fields,
    )

"""A graph built from a table: it carries the table and the rule, which make its counterfactuals."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from fairgear.caching import cache_folder, keep
from fairgear.errors import FileError
from fairgear.graph.canonical import rows_by_id
from fairgear.graph.edges import undirected_edges
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity import SimilarityRule
from fairgear.graph.similarity_kernel import Floats
from fairgear.graph.validation import check_node_ids
from fairgear.progress import log
from fairgear.tensor_files import read_tensors, write_tensors

# Part of every key of the cache: raise it when the same table and rule may give other edges.
ALGORITHM = 1


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScale:
    """Columns scaled to [−1, 1]: x = 2 (raw − low)/(high − low) − 1; constant ones become 0.

    Args:
        low, high: float64 (d,), the ends of each column.
        kept: a column that stays as it is: the sensitive one.

    Example:
        >>> import torch
        >>> from fairgear.graph import ColumnScale
        >>> scale = ColumnScale.of(torch.tensor([[1.0, 10.0], [3.0, 20.0], [2.0, 30.0]]))
        >>> scale(torch.tensor([[2.0, 10.0]])).tolist()
        [[0.0, -1.0]]
    """

    low: Tensor
    high: Tensor
    kept: int | None = None

    @classmethod
    def of(cls, raw: Tensor, kept: int | None = None) -> Self:
        """The scale of a table (n, d)."""
        return cls(raw.min(dim=0).values, raw.max(dim=0).values, kept)

    def __repr__(self) -> str:
        return f"ColumnScale({len(self.low)} columns)"

    def __call__(self, raw: Tensor) -> Tensor:
        """The scaled table, float32; values outside [low, high] are outside [−1, 1]."""
        low, high = self.low.to(raw), self.high.to(raw)
        span = high - low
        scaled = 2 * (raw - low) / torch.where(span > 0, span, 1.0) - 1
        scaled = torch.where(span > 0, scaled, raw - low)
        if self.kept is not None:
            scaled[:, self.kept] = raw[:, self.kept]
        return scaled.float()

    def inverse(self, x: Tensor) -> Tensor:
        """The table from which features were scaled, float64, up to their rounding."""
        x = x.double()
        low, high = self.low.to(x), self.high.to(x)
        span = high - low
        table = torch.where(span > 0, low + (x + 1) / 2 * span, x + low)
        if self.kept is not None:
            table[:, self.kept] = x[:, self.kept]
        return table


@dataclass(frozen=True, eq=False)
class SimilarityMechanism:
    """How the features and edges of a graph follow from its table `raw`.

    Example:
        >>> import torch
        >>> from fairgear.graph import SimilarityRule, similarity_graph
        >>> raw = torch.tensor([[20.0, 0], [22, 1], [60, 0], [61, 1]], dtype=torch.float64)
        >>> graph = similarity_graph(
        ...     raw,
        ...     torch.tensor([0, 0, 1, 1]),
        ...     raw[:, 1].long(),
        ...     rule=SimilarityRule(0.7),
        ...     sens_column=1,
        ...     feature_names=["age", "sex"],
        ... )
        >>> graph.mechanism.rule.threshold
        0.7
    """

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
    scale: ColumnScale | None = None,
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
        join: gives `rule.edges(table)` by other means, such as `cached_edges`.
        scale: of the features; by default from the ends of each column.
        fields: others of `SensitiveGraph`, such as `name`.

    Example:
        >>> import torch
        >>> from fairgear.graph import SimilarityRule, similarity_graph
        >>> raw = torch.tensor([[20.0, 0], [22, 1], [60, 0], [61, 1]], dtype=torch.float64)
        >>> graph = similarity_graph(
        ...     raw,
        ...     torch.tensor([0, 0, 1, 1]),
        ...     raw[:, 1].long(),
        ...     rule=SimilarityRule(0.7),
        ...     sens_column=1,
        ...     feature_names=["age", "sex"],
        ... )
        >>> graph.edge_index.tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
    """
    raw = raw.to(torch.float64)
    node_id = torch.arange(len(raw)) if node_id is None else node_id
    check_node_ids(node_id, len(raw))
    # Of rows at the same distance, the order decides which are nearest.
    order = rows_by_id(node_id)
    table = raw[order].numpy()
    joined = rule.edges(table) if join is None else join(table, rule)
    scale = ColumnScale.of(raw, sens_column) if scale is None else scale
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


def cached_edges(table: Floats, rule: SimilarityRule) -> Tensor:
    """`rule.edges(table)`, from the cache if it is there and undamaged.

    The key is made from the values of the table, whatever file they came from.
    """
    key = _cache_key(table, rule)
    path = cache_folder() / "edges" / f"{key}.safetensors"
    known = _read_edges(path, key, len(table))
    if known is not None:
        return known
    edges = rule.edges(table)
    # Each edge once, in 32 bits: a quarter of the bytes.
    pairs = edges[:, edges[0] < edges[1]].to(torch.int32)
    facts = {"key": key, "checksum": _checksum(key, pairs)}
    keep(path, lambda place: write_tensors(place, {"pairs": pairs}, facts))
    return edges


def _cache_key(table: Floats, rule: SimilarityRule) -> str:
    content = {
        "algorithm": ALGORITHM,
        "shape": table.shape,
        "threshold": float(rule.threshold).hex(),
        "neighbors": rule.neighbors,
        **({} if rule.unit is None else {"unit": [rule.unit[0], float(rule.unit[1]).hex()]}),
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    # The same bytes on every machine, by rows whatever the layout of the array.
    digest.update(np.ascontiguousarray(table, dtype="<f8").data)
    return digest.hexdigest()


def _read_edges(path: Path, key: str, n: int) -> Tensor | None:
    """The edges of a cached file; None if there is none, or a damaged one."""
    if not os.path.isfile(path):
        return None
    try:
        tensors, facts = read_tensors(path)
    except FileError:
        tensors, facts = {}, {}
    pairs = tensors.get("pairs")
    if pairs is None or facts.get("checksum") != _checksum(key, pairs):
        log(f"the cached edges in {path} are damaged: building them again")
        return None
    return undirected_edges(pairs.to(torch.int64), n)


def _checksum(key: str, pairs: Tensor) -> str:
    digest = hashlib.sha256(f"{key}:{pairs.dtype}:{tuple(pairs.shape)};".encode())
    digest.update(pairs.numpy().tobytes())
    return digest.hexdigest()

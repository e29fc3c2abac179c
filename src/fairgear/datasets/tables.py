"""A published table as a graph, joined by similarity or by published edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from fairgear.datasets.base import Dataset
from fairgear.graph import (
    ColumnScale,
    SensitiveGraph,
    SimilarityRule,
    from_tables,
    similarity_graph,
)
from fairgear.graph.similarity_mechanism import cached_edges


def published_graph(
    dataset: Dataset,
    frame: pd.DataFrame,
    joined_by: SimilarityRule | Tensor,
    *,
    dropped: Sequence[str] = (),
    **fields: Any,
) -> SensitiveGraph:
    """The graph of a table of numbers; the order of the columns is kept.

    Args:
        dataset: names the label and the sensitive attribute, which stays among the features.
        frame: one row a person.
        joined_by: a rule for the unscaled columns, or the published edges.
        dropped: columns to leave out.
        fields: others of `SensitiveGraph`, such as `node_id`.
    """
    features = frame.drop(columns=[dataset.label, *dropped])
    raw = torch.from_numpy(features.to_numpy("float64", copy=True))
    names = [str(name) for name in features.columns]
    fields |= {
        "y": torch.from_numpy(frame[dataset.label].to_numpy("int64", copy=True)),
        "sens": torch.from_numpy(frame[dataset.sensitive].to_numpy("int64", copy=True)),
        "sens_column": names.index(dataset.sensitive),
        "feature_names": names,
        "name": dataset.name,
        "sens_name": dataset.sensitive,
        "label_name": dataset.label,
        "sens_names": dataset.groups,
        "label_names": dataset.answers,
    }
    if isinstance(joined_by, SimilarityRule):
        return similarity_graph(raw, rule=joined_by, join=cached_edges, **fields)
    scale = ColumnScale.of(raw, fields["sens_column"])
    return SensitiveGraph(scale(raw), joined_by, scale=scale, **fields)


def alike_graph(dataset: Dataset, frame: pd.DataFrame) -> SensitiveGraph:
    """The graph of a table that nobody joined before, read as a user's own.

    Categories become indicators, all columns count the same, and people are joined above 0.7 of
    a row's highest similarity, as the guide for one's own data has it.
    """
    return from_tables(
        frame,
        label=dataset.label,
        sensitive=dataset.sensitive,
        similarity=0.7,
        standardize=True,
        name=dataset.name,
    )

"""From a table to a graph: every source goes through `table_graph`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity_mechanism import SimilarityMechanism, cached_edges, similarity_graph
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.encoding import EncodedTable, Encoding
from fairgear.graph.tables.features import (
    FeatureColumn,
    Mask,
    NumberColumn,
    feature_column,
    without_missing,
)
from fairgear.graph.tables.identity import Identity, Rows, edges_between
from fairgear.graph.tables.values import (
    TwoValues,
    label_values,
    listed,
    sensitive_values,
    unknown_labels,
)
from fairgear.progress import log

# Rows from which it pays to cache the edges of a table.
_MANY = 5_000


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by id, in two columns; `header` if the first row may be their names."""

    ends: pd.DataFrame
    header: bool = False


def table_graph(
    nodes: pd.DataFrame,
    edges: EdgeList | Rows | None,
    columns: TableColumns,
    *,
    ids: pd.Series | None = None,
    masks: Mapping[str, Mask] | None = None,
    encoding: Encoding | None = None,
) -> SensitiveGraph:
    """The graph of a table of people.

    Args:
        nodes: one row a person; an index with a name counts as a column.
        edges: by id, or pairs of row numbers (2, m); None if similar rows are to be joined.
        columns: what the columns mean.
        ids: the people's ids, if the source holds them beside the table.
        masks: of the rows, by their names in the graph.
        encoding: of a model's training table, to encode this one alike; by default the table's
            own, which becomes the graph's field `encoding`.
    """
    columns.check_edges(given=edges is not None)
    if nodes.index.name is not None and nodes.index.name not in nodes.columns:
        nodes = nodes.reset_index()
    nodes = nodes.rename(columns=str)
    if encoding is not None:
        encoding.check(list(nodes.columns), columns)
    columns.check_table(nodes)
    # Logged at the end, so that an error stands alone.
    notes: list[str] = []
    people = _identity(nodes, columns, ids, notes)
    label = unknown_labels(len(nodes))
    if columns.label is not None:
        label = label_values(nodes[columns.label], columns.label, columns.positive)
    group = groups(nodes[columns.sensitive], columns, encoding)
    features, keep = table_features(nodes, group, columns, encoding, notes)
    table = EncodedTable.of(features, columns.sensitive, notes)
    if encoding is None:
        encoding = Encoding.of(
            features, group, columns.sensitive, table, standardize=columns.standardize
        )
    y, sens = label.codes[keep], group.codes[keep]
    _warn(table, y, sens, columns, notes)
    fields: dict[str, Any] = {
        "y": torch.from_numpy(y),
        "sens": torch.from_numpy(sens),
        "sens_column": table.sens_column,
        "feature_names": table.names,
        "node_id": torch.from_numpy(people.node_id[keep]),
        "name": columns.name,
        "label_names": label.names,
        "sens_names": group.names,
        "encoding": encoding,
        **({} if people.names is None else {"node_names": people.names}),
        **{key: torch.from_numpy(mask[keep]) for key, mask in (masks or {}).items()},
    }
    scale = encoding.scale(table.sens_column)
    raw = torch.from_numpy(encoding.standardized(table).values)
    if columns.rule is not None:
        # The edges of a small table are computed faster than a file is read.
        join = cached_edges if len(sens) >= _MANY else None
        graph = similarity_graph(raw, rule=columns.rule, join=join, **fields)
        graph = graph.replace(x=scale(raw), mechanism=SimilarityMechanism(columns.rule, scale))
        if not graph.num_undirected_edges:
            notes.append(
                f"warning: --similarity {columns.similarity} joins nobody; the model sees "
                "everybody without neighbours"
            )
    else:
        if isinstance(edges, EdgeList):
            edges = people.pairs(edges.ends, header=edges.header, notes=notes)
        assert edges is not None, "checked above"
        graph = SensitiveGraph(scale(raw), edges_between(edges, keep, notes), **fields)
    for note in [*notes, *_codes(columns, label, group)]:
        log(f"{columns.name}: {note}")
    return graph


def groups(column: pd.Series, columns: TableColumns, encoding: Encoding | None) -> TwoValues:
    """The sensitive attribute, coded as in training if there is an encoding."""
    if encoding is not None:
        return encoding.groups_of(column)
    return sensitive_values(column, columns.sensitive, columns.sensitive_one)


def table_features(
    nodes: pd.DataFrame,
    group: TwoValues,
    columns: TableColumns,
    encoding: Encoding | None,
    notes: list[str],
) -> tuple[list[FeatureColumn], Mask]:
    """The columns without gaps, the sensitive one at its own place, and which rows are kept."""
    aside = {columns.label, columns.id_column(nodes.columns), *columns.drop}
    names = [name for name in nodes.columns if name not in aside]
    if encoding is None:
        features = [
            feature_column(nodes[name], name, categorical=name in columns.categorical)
            for name in names
            if name != columns.sensitive
        ]
    else:
        unused = [name for name in names if name not in encoding.names()]
        if unused:
            notes.append(f"the model does not use the columns {listed(unused)}")
        names = encoding.names()
        features = [
            code.read(nodes[code.column])
            for code in encoding.columns
            if code.column != columns.sensitive
        ]
    features, keep = without_missing(
        features, group.codes < 0, sensitive=columns.sensitive, policy=columns.missing, notes=notes
    )
    if encoding is None and len(set(group.codes[keep].tolist())) < 2:
        left = group.names[int(group.codes[keep][0])]
        raise GraphError(
            f"rows without missing values, of the groups in {columns.sensitive!r}",
            f"{left!r} alone once the others are dropped",
            "people of both groups",
            "use --missing impute, or leave columns with many gaps out with --drop",
        )
    sens = NumberColumn(columns.sensitive, group.codes[keep].astype(np.float64))
    features.insert(names.index(columns.sensitive), sens)
    return features, keep


def _identity(
    nodes: pd.DataFrame, columns: TableColumns, ids: pd.Series | None, notes: list[str]
) -> Identity:
    column = columns.id_column(nodes.columns)
    if column is None:
        return Identity.of(ids, len(nodes))
    if columns.id is None:
        notes.append(f"column {column!r} holds the ids")
    return Identity.of(nodes[column], len(nodes), column)


def _warn(
    table: EncodedTable,
    y: NDArray[np.int64],
    sens: NDArray[np.int64],
    columns: TableColumns,
    notes: list[str],
) -> None:
    for what, codes in ((columns.sensitive, sens), (columns.label, y)):
        for name in table.copies(codes):
            notes.append(f"column {name!r} is a copy of {what!r}; consider --drop")
    dominant = table.dominant()
    if columns.rule is not None and not columns.standardize and dominant:
        notes.append(
            f"who is similar is decided by {listed(dominant)} nearly alone; --standardize gives "
            "every column the same weight"
        )


def _codes(columns: TableColumns, label: TwoValues, group: TwoValues) -> list[str]:
    """What 0 and 1 stand for."""
    coded = [(columns.label, label), (columns.sensitive, group)]
    return [
        f"{name}: {values.names[1]} counts as 1, {values.names[0]} as 0"
        for name, values in coded
        if name is not None
    ]

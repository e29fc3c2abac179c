"""From a table to a graph: the one road that every source takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoded_table import EncodedTable, encode
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.features import Mask
from fairgear.graph.convert.identity import Identity, id_column, identify
from fairgear.graph.convert.pairs import Pairs, joined, matched_pairs
from fairgear.graph.convert.roles import check_joined, check_table
from fairgear.graph.convert.spelling import listed
from fairgear.graph.convert.table_features import table_features
from fairgear.graph.convert.two_values import TwoValues, label_values, sensitive_values
from fairgear.graph.edge_cache import cached_edges
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity_graph import SimilarityMechanism, similarity_graph
from fairgear.progress import log

# Rows from which it pays to keep the edges of a table.
_MANY = 5_000


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by id, in two columns; `header` where the first row may name these."""

    ends: pd.DataFrame
    header: bool = False


# Edges by id, or by row number where the source knows no ids.
Edges = EdgeList | Pairs


def table_graph(
    nodes: pd.DataFrame,
    edges: Edges | None,
    columns: TableColumns,
    *,
    ids: pd.Series | None = None,
    masks: Mapping[str, Mask] | None = None,
    encoding: Encoding | None = None,
) -> SensitiveGraph:
    """The graph of a table of people.

    Args:
        nodes: one row a person; an index with a name counts as a column.
        edges: who knows whom; None where similar rows are to be joined.
        columns: what the columns mean.
        ids: the people's ids, where the source holds them beside the table.
        masks: of the rows, by their names in the graph.
        encoding: of another table, by which this one is read; its own, if not given, is the
            graph's field `encoding`.
    """
    check_joined(columns, edges=edges is not None)
    if nodes.index.name is not None and nodes.index.name not in nodes.columns:
        nodes = nodes.reset_index()
    nodes = nodes.rename(columns=str)
    if encoding is not None:
        encoding.check(list(nodes.columns), columns)
    check_table(nodes, columns)
    # Said only once all is well, so that an error stands alone.
    notes: list[str] = []
    people = _people(nodes, columns, ids, notes)
    label = (
        TwoValues(np.full(len(nodes), -1, dtype=np.int64), ("0", "1"))
        if columns.label is None
        else label_values(nodes[columns.label], columns.label, columns.positive)
    )
    held = nodes[columns.sensitive]
    group = (
        sensitive_values(held, columns.sensitive, columns.sensitive_one)
        if encoding is None
        else encoding.groups_of(held)
    )
    features, keep = table_features(nodes, group, columns, encoding, notes)
    table = encode(features, columns.sensitive, notes)
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
    scale, table = encoding.scale(table.sens_column), encoding.standardized(table)
    if columns.rule is not None:
        # A small table is joined faster than a file is read.
        join = cached_edges if len(sens) >= _MANY else None
        raw = torch.from_numpy(table.values)
        graph = similarity_graph(raw, rule=columns.rule, join=join, **fields)
        graph = graph.replace(x=scale(raw), mechanism=SimilarityMechanism(columns.rule, scale))
        if not graph.num_undirected_edges:
            notes.append(
                f"warning: --similarity {columns.similarity} joins nobody; the model sees "
                "everybody without neighbours"
            )
    else:
        edge_index = _edges(edges, people, keep, notes)
        graph = SensitiveGraph(scale(torch.from_numpy(table.values)), edge_index, **fields)
    for note in [*notes, *_codes(columns, label, group)]:
        log(f"{columns.name}: {note}")
    return graph


def _people(
    nodes: pd.DataFrame, columns: TableColumns, ids: pd.Series | None, notes: list[str]
) -> Identity:
    column = id_column(nodes.columns, columns)
    if column is None:
        return identify(ids, len(nodes))
    if columns.id is None:
        notes.append(f"column {column!r} holds the ids")
    return identify(nodes[column], len(nodes), column)


def _edges(edges: Edges | None, people: Identity, keep: Mask, notes: list[str]) -> Tensor:
    if isinstance(edges, EdgeList):
        edges = matched_pairs(edges.ends, people, header=edges.header, notes=notes)
    assert edges is not None, "checked by check_joined"
    return joined(edges, keep, notes)


def _warn(
    table: EncodedTable,
    y: np.ndarray[Any, np.dtype[np.int64]],
    sens: np.ndarray[Any, np.dtype[np.int64]],
    columns: TableColumns,
    notes: list[str],
) -> None:
    """What a person should know of the table, though it is no error."""
    for what, codes in ((columns.sensitive, sens), (columns.label, y)):
        for name in table.copies(codes):
            notes.append(f"column {name!r} is a copy of {what!r}; consider --drop")
    outweighing = table.outweighing()
    if columns.rule is not None and not columns.standardize and outweighing:
        notes.append(
            f"who is similar is decided by {listed(outweighing)} nearly alone; --standardize gives "
            "every column the same weight"
        )


def _codes(columns: TableColumns, label: TwoValues, group: TwoValues) -> list[str]:
    """What 0 and 1 stand for, which nobody should have to guess."""
    told = [(columns.sensitive, group)]
    if columns.label is not None:
        told.insert(0, (columns.label, label))
    return [
        f"{name}: {values.names[1]} counts as 1, {values.names[0]} as 0" for name, values in told
    ]

"""People as rows of a table, whose index holds their ids, and the graph that joins them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, TableColumns
from fairgear.graph.tables import Encoding
from fairgear.graph.tables.identity import Identity
from fairgear.graph.tables.links import Ties, weight_column
from fairgear.graph.tables.table_graph import table_graph


def columns_of(
    sensitive: str, similarity: float | None, more: Mapping[str, Any] | None
) -> TableColumns:
    """What the columns mean; `more` are other fields of `TableColumns`."""
    more = {} if more is None else dict(more)
    for name in {"sensitive", "similarity", "label", "task"} & more.keys():
        got, step = f"{name!r}", "give it to the estimator, or as y"
        raise ParameterError("columns", got, "other fields of TableColumns", step)
    if "drop" in (more.get("missing"), more.get("unknown")):
        got, step = "'drop', and every row needs an answer", 'use {"missing": "impute"}'
        raise ParameterError("columns", got, "refuse, impute or keep", step)
    try:
        return TableColumns(sensitive, similarity=similarity, **more)
    except TypeError as error:
        allowed = "fields of fairgear.graph.TableColumns"
        raise ParameterError("columns", ", ".join(more), allowed, "correct the names") from error


def identified(table: pd.DataFrame, columns: TableColumns, what: str) -> pd.DataFrame:
    """The table with ids as its index: those of its id column, or else those of its index."""
    if not isinstance(table, pd.DataFrame):
        got, step = f"a {type(table).__name__}", "pass a DataFrame whose index holds the ids"
        raise GraphError(what, got, "a pandas DataFrame", step)
    column = columns.id_column([str(name) for name in table.columns])
    found = table.rename(columns=str)
    found = found.reset_index(drop=True) if column is not None else found
    ids = table.index if column is None else pd.Index(found[column])
    if ids.has_duplicates:
        first = ids[ids.duplicated()][0]
        got, step = f"{first!r} more than once", "give everybody an id of their own"
        raise GraphError(f"ids of {what}", got, "each id once", step)
    return found.set_axis(pd.Index(ids, name=None), axis="index")


def joined(known: pd.DataFrame | None, people: pd.DataFrame) -> pd.DataFrame:
    """All of these people, each once; of those in both tables the second row counts.

    Those who are known keep their places.
    """
    if known is None:
        return people
    others = known.loc[~known.index.isin(people.index)]
    order = known.index.append(people.index[~people.index.isin(known.index)])
    return pd.concat([others, people[list(known.columns)]]).loc[order]


def graph_of(
    people: pd.DataFrame,
    edges: pd.DataFrame | None,
    columns: TableColumns,
    encoding: Encoding | None = None,
) -> SensitiveGraph:
    """The graph of these people, without labels; rows stay in their order.

    Args:
        people: from `identified`.
        edges: two columns of ids, and a third with weights if `columns` names it. Those at other
            people are left out, since a fold of a cross-validation holds a part of the people.
        columns: what the columns mean.
        encoding: of the people that a method was fitted to.
    """
    ids = pd.Series(people.index)
    ties = None if edges is None else _among(Identity.of(ids, len(ids)), edges, columns)
    return table_graph(people.reset_index(drop=True), ties, columns, ids=ids, encoding=encoding)


def _among(people: Identity, edges: pd.DataFrame, columns: TableColumns) -> Ties:
    """The edges that join two of the people."""
    if not isinstance(edges, pd.DataFrame) or edges.shape[1] < 2:
        got = f"a {type(edges).__name__}" if not isinstance(edges, pd.DataFrame) else "one column"
        step = "pass one row an edge, with the ids of both ends"
        raise GraphError("edges", got, "a DataFrame with two columns of ids", step)
    pairs = np.stack([people.rows_of(edges.iloc[:, end]) for end in (0, 1)])
    among = (pairs >= 0).all(axis=0)
    if not among.any():
        got, allowed = f"{len(edges)}, none between two of the people", "ids of the index of X"
        step = "set the index of X to the ids that the edges name"
        raise GraphError("edges", got, allowed, step)
    weights = None
    if columns.weight is not None:
        weights = weight_column(edges, columns.weight, header=False)[among]
    return Ties(pairs[:, among], weights, columns.directed)

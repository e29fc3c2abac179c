"""Graphs from DataFrames."""

from __future__ import annotations

from typing import Unpack

import pandas as pd

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import ColumnOptions, TableColumns
from fairgear.graph.convert.table_graph import EdgeList, table_graph
from fairgear.graph.sensitive_graph import SensitiveGraph


def from_tables(
    nodes: pd.DataFrame, edges: pd.DataFrame | None = None, **columns: Unpack[ColumnOptions]
) -> SensitiveGraph:
    """A graph from a table of people, and a table of edges or a similarity.

    Args:
        nodes: one row a person.
        edges: two columns of ids, or of row numbers where `nodes` has no ids.
        columns: the fields of `TableColumns`, such as `label="approved", sensitive="sex"`.

    >>> from_tables(people, friends, label="approved", sensitive="sex")  # doctest: +SKIP
    >>> from_tables(people, label="approved", sensitive="sex", similarity=0.7)  # doctest: +SKIP
    """
    for what, table in (("nodes", nodes), ("edges", edges)):
        if not isinstance(table, pd.DataFrame) and (what == "nodes" or table is not None):
            raise GraphError(
                what,
                f"a {type(table).__name__}",
                "a pandas DataFrame",
                f"pass pandas.DataFrame({what})",
            )
    return table_graph(nodes, None if edges is None else EdgeList(edges), TableColumns(**columns))

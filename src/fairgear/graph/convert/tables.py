"""Graphs from DataFrames."""

from __future__ import annotations

from typing import Unpack

import pandas as pd

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
    return table_graph(nodes, None if edges is None else EdgeList(edges), TableColumns(**columns))

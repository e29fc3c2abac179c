"""Graphs from NetworkX."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import pandas as pd

from fairgear.graph.convert.columns import ColumnOptions, TableColumns
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.table_graph import table_graph
from fairgear.graph.sensitive_graph import SensitiveGraph


def from_networkx(graph: Any, **columns: Unpack[ColumnOptions]) -> SensitiveGraph:
    """A graph from a NetworkX graph; its nodes' attributes are the columns of the table.

    Args:
        graph: of any kind; directions, weights and parallel edges do not count. A node's key is
            its id, unless an attribute is.
        columns: the fields of `TableColumns`; with `similarity` for a graph without edges.
    """
    return network_graph(graph, TableColumns(**columns))


def network_graph(
    graph: Any, columns: TableColumns, encoding: Encoding | None = None
) -> SensitiveGraph:
    """The same with settings that are there already."""
    keys = list(graph.nodes)
    attributes = [graph.nodes[key] for key in keys]
    names = dict.fromkeys(name for held in attributes for name in held)
    # Column by column and as objects: pandas would make whole numbers with gaps floats.
    nodes = pd.DataFrame(
        {name: pd.Series([held.get(name) for held in attributes], dtype=object) for name in names},
        index=range(len(keys)),
    )
    row = {key: number for number, key in enumerate(keys)}
    pairs = np.array([(row[a], row[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2).T
    return table_graph(
        nodes,
        pairs if pairs.size else None,
        columns,
        ids=pd.Series(keys, dtype=object) if keys else None,
        encoding=encoding,
    )

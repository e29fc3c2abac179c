"""Graphs from SciPy's sparse matrices."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import pandas as pd
from scipy import sparse

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import ColumnOptions, TableColumns
from fairgear.graph.convert.table_graph import table_graph
from fairgear.graph.sensitive_graph import SensitiveGraph


def from_scipy(
    adjacency: Any, nodes: pd.DataFrame, **columns: Unpack[ColumnOptions]
) -> SensitiveGraph:
    """A graph from an adjacency matrix and a table of people in the same order.

    Args:
        adjacency: (n, n), any sparse format; whatever is not zero is an edge, either way.
        nodes: row i is the person of row and column i.
        columns: the fields of `TableColumns`.
    """
    known: bool = sparse.issparse(adjacency)
    if not known:
        raise GraphError(
            "adjacency",
            f"a {type(adjacency).__name__}",
            "a sparse matrix of SciPy",
            "pass scipy.sparse.coo_array(matrix)",
        )
    if tuple(adjacency.shape) != (len(nodes), len(nodes)):
        raise GraphError(
            "adjacency",
            f"shape {tuple(adjacency.shape)}",
            f"({len(nodes)}, {len(nodes)}), the rows of the node table",
            "pass one row and one column a person",
        )
    entries = adjacency.tocoo()
    present = entries.data != 0
    pairs = np.stack([entries.row[present], entries.col[present]]).astype(np.int64)
    return table_graph(nodes, pairs, TableColumns(**columns))

"""Graphs from what people have: DataFrames, PyG, NetworkX and SciPy, by one set of names."""

from fairgear.graph.convert.columns import ColumnOptions, TableColumns
from fairgear.graph.convert.networks import from_networkx
from fairgear.graph.convert.pyg import from_pyg
from fairgear.graph.convert.sparse import from_scipy
from fairgear.graph.convert.tables import from_tables

__all__ = [
    "ColumnOptions",
    "TableColumns",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "from_tables",
]

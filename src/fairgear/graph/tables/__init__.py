"""Graphs from tables: DataFrames, PyG, NetworkX and SciPy, with one set of column options."""

from fairgear.graph.tables.columns import ColumnOptions, TableColumns
from fairgear.graph.tables.converters import from_networkx, from_pyg, from_scipy, from_tables
from fairgear.graph.tables.encoding import ENCODING, Encoding
from fairgear.graph.tables.original import OriginalColumn, OriginalColumns

__all__ = [
    "ENCODING",
    "ColumnOptions",
    "Encoding",
    "OriginalColumn",
    "OriginalColumns",
    "TableColumns",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "from_tables",
]

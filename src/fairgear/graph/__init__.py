"""The one object that travels: a graph with a validated sensitive attribute, and its splits."""

from fairgear.graph.communities import communities
from fairgear.graph.convert import (
    TableColumns,
    from_networkx,
    from_pyg,
    from_scipy,
    from_tables,
)
from fairgear.graph.edges import closed_neighborhood_mean, degrees, undirected_edges
from fairgear.graph.reading import read_graph
from fairgear.graph.rows import rows_of
from fairgear.graph.scaling import ColumnScale
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity import SimilarityRule, similarity_edges
from fairgear.graph.similarity_graph import SimilarityMechanism, similarity_graph
from fairgear.graph.splits import SPLITS, split
from fairgear.graph.stored import build_stored, open_stored, write_stored

__all__ = [
    "SPLITS",
    "ColumnScale",
    "SensitiveGraph",
    "SimilarityMechanism",
    "SimilarityRule",
    "TableColumns",
    "build_stored",
    "closed_neighborhood_mean",
    "communities",
    "degrees",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "from_tables",
    "open_stored",
    "read_graph",
    "rows_of",
    "similarity_edges",
    "similarity_graph",
    "split",
    "undirected_edges",
    "write_stored",
]

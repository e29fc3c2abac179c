"""The one object that travels: a graph with a validated sensitive attribute, and its splits."""

from fairgear.graph.attributes import Attribute, Attributes
from fairgear.graph.communities import communities, regions
from fairgear.graph.edges import (
    closed_neighborhood_mean,
    degrees,
    directed_edges,
    undirected_edges,
)
from fairgear.graph.read_graph import read_graph
from fairgear.graph.sensitive_graph import (
    SensitiveGraph,
    groups_around,
    groups_of,
    rows_of,
)
from fairgear.graph.similarity import SimilarityRule, similarity_edges
from fairgear.graph.similarity_mechanism import ColumnScale, SimilarityMechanism, similarity_graph
from fairgear.graph.splits import SPLITS, split
from fairgear.graph.stored import build_stored, open_stored, write_stored
from fairgear.graph.tables import (
    TableColumns,
    from_networkx,
    from_pyg,
    from_scipy,
    from_tables,
)
from fairgear.graph.targets import Target
from fairgear.graph.unknown import complete

__all__ = [
    "SPLITS",
    "Attribute",
    "Attributes",
    "ColumnScale",
    "SensitiveGraph",
    "SimilarityMechanism",
    "SimilarityRule",
    "TableColumns",
    "Target",
    "build_stored",
    "closed_neighborhood_mean",
    "communities",
    "complete",
    "degrees",
    "directed_edges",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "from_tables",
    "groups_around",
    "groups_of",
    "open_stored",
    "read_graph",
    "regions",
    "rows_of",
    "similarity_edges",
    "similarity_graph",
    "split",
    "undirected_edges",
    "write_stored",
]

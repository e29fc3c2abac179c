"""The one object that travels: a graph with a validated sensitive attribute, and its splits."""

from fairgear.graph.communities import communities
from fairgear.graph.edges import closed_neighborhood_mean, degrees, undirected_edges
from fairgear.graph.rows import rows_of
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.splits import SPLITS, split

__all__ = [
    "SPLITS",
    "SensitiveGraph",
    "closed_neighborhood_mean",
    "communities",
    "degrees",
    "rows_of",
    "split",
    "undirected_edges",
]

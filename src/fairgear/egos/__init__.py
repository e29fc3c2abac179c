"""Ego subgraphs: the nodes that matter most to each node, as indices and as dense batches."""

from fairgear.egos.batches import EgoBatch
from fairgear.egos.index import EgoIndex, cached, clear_cache, sharded
from fairgear.egos.nearby import NearbyEgos
from fairgear.egos.pagerank import Egos, PageRank, find_egos, top_k_pagerank
from fairgear.egos.structure import Structure

__all__ = [
    "EgoBatch",
    "EgoIndex",
    "Egos",
    "NearbyEgos",
    "PageRank",
    "Structure",
    "cached",
    "clear_cache",
    "find_egos",
    "sharded",
    "top_k_pagerank",
]

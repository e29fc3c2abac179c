"""Ego subgraphs: the nodes that matter most to each node, as indices and as dense batches."""

from fairgear.egos.batches import EgoBatch
from fairgear.egos.index import EgoIndex
from fairgear.egos.memory import remembered
from fairgear.egos.pagerank import Egos, PageRank, find_egos, top_k_pagerank
from fairgear.egos.shards import sharded
from fairgear.egos.structure import Structure

__all__ = [
    "EgoBatch",
    "EgoIndex",
    "Egos",
    "PageRank",
    "Structure",
    "find_egos",
    "remembered",
    "sharded",
    "top_k_pagerank",
]

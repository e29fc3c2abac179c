"""The fitted edge law: how likely each pair is an edge, and which edges another world has."""

from fairgear.causal.edges.law import EdgeLaw
from fairgear.causal.edges.linked import LinkLaw
from fairgear.causal.edges.model import World
from fairgear.causal.edges.near_lists import NearLists
from fairgear.causal.edges.nearby import NearbyEdges
from fairgear.causal.edges.pairs import Factual

__all__ = ["EdgeLaw", "Factual", "LinkLaw", "NearLists", "NearbyEdges", "World"]

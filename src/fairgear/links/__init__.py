"""Links: who is predicted to be linked to whom, and whether that would change in another world."""

from fairgear.links.base import LINK_METHODS, LinkModel, PairScorer
from fairgear.links.methods import LinkGear, LinkGearConfig, load_link_model
from fairgear.links.pairs import Pairs, without_pairs
from fairgear.links.split import NEGATIVES, LinkSplit, split_links

__all__ = [
    "LINK_METHODS",
    "NEGATIVES",
    "LinkGear",
    "LinkGearConfig",
    "LinkModel",
    "LinkSplit",
    "PairScorer",
    "Pairs",
    "load_link_model",
    "split_links",
    "without_pairs",
]

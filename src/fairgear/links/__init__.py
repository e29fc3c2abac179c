"""Links: who is predicted to be linked to whom, and whether that would change in another world."""

from fairgear.links.audit import audit_links
from fairgear.links.base import LINK_METHODS, LinkModel, PairScorer
from fairgear.links.command import LinkCommand
from fairgear.links.given import GivenLinks
from fairgear.links.lists import top_lists
from fairgear.links.methods import LinkGear, LinkGearConfig, load_link_model
from fairgear.links.metrics import LINK_METRICS
from fairgear.links.pairs import Pairs, without_pairs
from fairgear.links.result import LinkAudit
from fairgear.links.split import NEGATIVES, LinkSplit, split_links
from fairgear.links.times import edge_times
from fairgear.links.truth import link_probability

__all__ = [
    "LINK_METHODS",
    "LINK_METRICS",
    "NEGATIVES",
    "GivenLinks",
    "LinkAudit",
    "LinkCommand",
    "LinkGear",
    "LinkGearConfig",
    "LinkModel",
    "LinkSplit",
    "PairScorer",
    "Pairs",
    "audit_links",
    "edge_times",
    "link_probability",
    "load_link_model",
    "split_links",
    "top_lists",
    "without_pairs",
]

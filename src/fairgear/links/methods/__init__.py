"""The methods for links, by name in `LINK_METHODS`."""

from fairgear.links.methods.base import LinkMethod, load_link_model
from fairgear.links.methods.fairwalk import FairWalk
from fairgear.links.methods.gear import LinkGear
from fairgear.links.methods.logistic import LinkLogistic
from fairgear.links.methods.neighbours import NeighbourFloor
from fairgear.links.methods.network import LinkNetwork
from fairgear.links.methods.settings import LinkGearConfig

__all__ = [
    "FairWalk",
    "LinkGear",
    "LinkGearConfig",
    "LinkLogistic",
    "LinkMethod",
    "LinkNetwork",
    "NeighbourFloor",
    "load_link_model",
]

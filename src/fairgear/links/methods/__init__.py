"""The methods for links, by name in `LINK_METHODS`."""

from fairgear.links.methods import fairwalk, logistic, neighbours
from fairgear.links.methods.base import LinkMethod, load_link_model
from fairgear.links.methods.gear import LinkGear
from fairgear.links.methods.network import LinkNetwork
from fairgear.links.methods.settings import LinkGearConfig

__all__ = [
    "LinkGear",
    "LinkGearConfig",
    "LinkMethod",
    "LinkNetwork",
    "fairwalk",
    "load_link_model",
    "logistic",
    "neighbours",
]

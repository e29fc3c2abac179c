"""The settings of networks for links: those of the same network for people, and a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.baselines.cenc import CencConfig
from fairgear.methods.baselines.nifty import NiftyConfig
from fairgear.methods.baselines.whole_graph import WholeGraphConfig
from fairgear.methods.gear.config import GearConfig
from fairgear.settings import Config, OneOf, Range


@dataclass(frozen=True)
class PairSettings(Config):
    """What pairs of people add to a network's settings, or change in them."""

    head: Annotated[str, OneOf("dot", "bilinear", "mlp")] = "dot"
    """How two representations give a logit: dot, bilinear or mlp."""
    dim: Annotated[int, Range(1, 65536)] = 64
    """Width of every layer, and of the representations."""
    dropout: Annotated[float, Range(0, 0.99)] = 0.2
    """Between layers."""
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"
    """The decision threshold: 0.5 (half), or the most accurate on the validation pairs."""


@dataclass(frozen=True)
class LinkNetworkConfig(PairSettings, WholeGraphConfig):
    """How a network without a fairness term is trained on pairs."""


@dataclass(frozen=True)
class LinkGearConfig(PairSettings, GearConfig):
    """The settings of `LinkGear`, which says what they mean.

    Example:
        >>> from fairgear.links import LinkGearConfig
        >>> LinkGearConfig(head="mlp").dim
        64
    """

    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "mlp")] = "graphsage"


@dataclass(frozen=True)
class LinkNiftyConfig(PairSettings, NiftyConfig):
    """How NIFTY is trained on pairs."""


@dataclass(frozen=True)
class LinkCencConfig(PairSettings, CencConfig):
    """How C-ENC is trained on pairs."""


@dataclass(frozen=True)
class FairDropConfig(LinkNetworkConfig):
    """How FairDrop is built and trained."""

    layer: Annotated[str, OneOf("graphsage", "gcn", "gin")] = "gcn"
    """The layers of the encoder: graphsage, gcn or gin."""
    delta: Annotated[float, Range(0, 0.5)] = 0.16
    """δ: in each step an edge within a group is left out with probability ½ + δ, any other with
    ½ − δ."""

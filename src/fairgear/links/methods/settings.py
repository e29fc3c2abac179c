"""The settings of networks for links: those of the same network for people, and a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.baselines.cenc import CencConfig
from fairgear.methods.baselines.nifty import NiftyConfig
from fairgear.methods.baselines.whole_graph import WholeGraphConfig
from fairgear.methods.gear.config import GearConfig
from fairgear.settings import Config, OneOf, Range

# The share of FairWalk's learning rate at the end.
_LAST = 0.05


@dataclass(frozen=True)
class PairSettings(Config):
    """What pairs of people add to a network's settings, or change in them."""

    head: Annotated[str, OneOf("dot", "bilinear", "mlp")] = "dot"
    """How two representations give a logit: dot, bilinear or mlp."""
    shared_neighbours: bool = False
    """Whether the head also reads how many neighbours two people share, and how many they have."""
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

    shared_neighbours: bool = True
    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "mlp")] = "mlp"
    views: bool = False


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


@dataclass(frozen=True)
class FairWalkConfig(Config):
    """How FairWalk walks and learns."""

    dim: Annotated[int, Range(1, 65536)] = 64
    """Width of the vectors."""
    walks: Annotated[int, Range(1, 10_000)] = 10
    """Walks from each person."""
    length: Annotated[int, Range(2, 10_000)] = 20
    """People on a walk."""
    window: Annotated[int, Range(1, 1000)] = 3
    """Steps on a walk up to which people are near each other."""
    negatives: Annotated[int, Range(1, 1000)] = 3
    """Others that are drawn for each pair of near ones."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.05
    """Of the ascent; it falls to a twentieth of this."""
    C: Annotated[float | None, Range(1e-8, 1e8)] = None
    """Of the regression on pairs, as in scikit-learn. [of 0.001, 0.01, 0.1, 1, 10 and 100 the one
    with the least loss on the validation pairs]"""
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"
    """The decision threshold: 0.5 (half), or the most accurate on the validation pairs."""

    def rate(self, number: int) -> float:
        """The learning rate of a round of walks."""
        done = number / max(1, self.walks - 1)
        return self.learning_rate * (1 - (1 - _LAST) * done)

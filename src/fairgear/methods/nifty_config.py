"""The settings of NIFTY. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fairgear.methods.whole_graph_config import WholeGraphConfig
from fairgear.settings import Range


@dataclass(frozen=True)
class NiftyConfig(WholeGraphConfig):
    """What is changed in a view of the graph, and how much alike the views must be."""

    similarity_weight: Annotated[float, Range(0, 1)] = 0.6
    """λ: the share of the similarity in the loss; the cross-entropy has the rest."""
    feature_noise: Annotated[float, Range(0, 1)] = 0.1
    """How likely a value is moved in a view, by a standard deviation or so."""
    drop_edges: Annotated[float, Range(0, 1)] = 0.001
    """How likely an edge is left out of a view."""
    label_flipped: bool = True
    """Whether the labels are learned in the flipped view too, or in the other alone."""

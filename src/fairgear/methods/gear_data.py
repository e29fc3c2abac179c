"""What a fit of Gear reads of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.inputs import FeatureScaler
from fairgear.training import seeded

# Of more people than this, so many say how features are scaled and what is erased of them.
STATISTICS = 2**18
# But everybody does where so few of a group would.
FEWEST = 1000


@dataclass(frozen=True)
class GearData:
    """People in the order of their ids, so that reordering the rows of a graph changes nothing."""

    egos: EgoSource
    y: Tensor
    """(n,) everyone's labels."""
    sens_around: Tensor
    """(n,) the mean of s over everyone and their neighbours in the graph."""
    x_asked: Tensor
    """Scaled features of all people, or of many, and"""
    sens_asked: Tensor
    """their groups: what is done to features is learned from them, without labels."""
    train_rows: Tensor
    val_rows: Tensor

    @classmethod
    def of(
        cls,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
        egos: EgoSource | None = None,
    ) -> Self:
        """Fit the scaler, and gather what else is needed; `egos` where they are at hand."""
        order = graph.node_id.argsort()
        asked = _asked(order, graph.sens)
        scaler.fit(graph, asked)
        masks = (graph.train_mask, graph.val_mask)
        rows = [mask[order].nonzero()[:, 0].to(device) for mask in masks]
        return cls(
            EgoSource(graph, index, scaler, device, order) if egos is None else egos,
            graph.y[order].to(device),
            closed_neighborhood_mean(graph.sens, graph.edge_index)[order].float().to(device),
            scaler.scaled(graph.x[asked]),
            graph.sens[asked].to(device),
            *rows,
        )


def _asked(order: Tensor, sens: Tensor) -> Tensor:
    """Some of the people, in the same order; all, where they are not too many.

    They are drawn at random; where that leaves out people of a group of few, all are taken.
    """
    if len(order) <= STATISTICS:
        return order
    with seeded(0, "statistics"):
        drawn = torch.randperm(len(order))[:STATISTICS]
    asked = order[drawn.sort().values]
    if min(int((sens[asked] == group).sum()) for group in (0, 1)) < FEWEST:
        return order
    return asked

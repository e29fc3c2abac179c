"""What a fit of Gear reads of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods.egos import EgoSource
from fairgear.methods.features import FeatureScaler, statistics_sample


@dataclass(frozen=True)
class GearData:
    """People in canonical order, so that reordering the rows of a graph changes nothing."""

    egos: EgoSource
    y: Tensor
    """(n,) labels."""
    sens_around: Tensor
    """(n,) the mean of s over each person and their neighbours."""
    x_sample: Tensor
    """Scaled features of all people, or of a sample, and"""
    sens_sample: Tensor
    """their groups: the inputs of the network are fitted on them, without labels."""
    train_rows: Tensor
    val_rows: Tensor

    @classmethod
    def of(
        cls,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
    ) -> Self:
        """Fit the scaler, and collect everything else."""
        order = graph.canonical.rows
        sample = statistics_sample(order, graph.sens)
        scaler.fit(graph, sample)
        masks = (graph.train_mask, graph.val_mask)
        rows = [mask[order].nonzero()[:, 0].to(device) for mask in masks]
        return cls(
            EgoSource(graph, index, scaler, device, order),
            graph.y[order].to(device),
            closed_neighborhood_mean(graph.sens, graph.edge_index)[order].float().to(device),
            scaler.scaled(graph.x[sample]),
            graph.sens[sample].to(device),
            *rows,
        )

"""Models of links whose answers are known without counting."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.graph import closed_neighborhood_mean


def same_group(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Homophily: a link where both ends are of one group."""
    first, second = graph.sens[pairs]
    return torch.eq(first, second).double()


def traits(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Of what the attribute does not cause: in a synthetic graph, the latent variables."""
    assert graph.latent is not None
    first, second = graph.latent.double()[pairs]
    return torch.sigmoid((first * second).sum(dim=1))


def features(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Alike in what people show, which the attribute changes."""
    first, second = graph.x.double()[pairs]
    return torch.sigmoid((first * second).sum(dim=1))


def surroundings(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Reads s around both ends, so features of nobody but edges and everybody's s."""
    around = closed_neighborhood_mean(graph.sens.double(), graph.edge_index)
    first, second = around[pairs]
    own = torch.sigmoid(graph.x.double()[pairs[0], 0])
    return torch.sub(1 - 0.1 * own, (first - second).abs())


def everything(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Features and surroundings."""
    return (features(graph, pairs) + surroundings(graph, pairs)) / 2


def alike(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Scores beyond 0 and 1: less the squared distance of features."""
    first, second = graph.x.double()[pairs]
    return torch.neg((first - second).square().sum(dim=1))


def degrees(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """How many links both ends have that the model sees."""
    count = torch.bincount(graph.edge_index[0], minlength=len(graph.x))
    return torch.sum(count[pairs], dim=0).double()

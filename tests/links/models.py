"""Models of links whose answers are known without counting."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.graph import closed_neighborhood_mean


def same_group(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Homophily: a link where both ends are of one group."""
    first, second = graph.sens[pairs]
    return (first == second).double()


def traits(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Of what the attribute does not cause: in a synthetic graph, the latent variables."""
    first, second = graph.latent.double()[pairs]
    return (first * second).sum(dim=1).sigmoid()


def features(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Alike in what people show, which the attribute changes."""
    first, second = graph.x.double()[pairs]
    return (first * second).sum(dim=1).sigmoid()


def surroundings(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Reads s around both ends, so features of nobody but edges and everybody's s."""
    around = closed_neighborhood_mean(graph.sens.double(), graph.edge_index)
    first, second = around[pairs]
    return 1 - (first - second).abs() - 0.1 * graph.x.double()[pairs[0], 0].sigmoid()


def everything(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Features and surroundings."""
    return (features(graph, pairs) + surroundings(graph, pairs)) / 2


def alike(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Scores beyond 0 and 1: less the squared distance of features."""
    first, second = graph.x.double()[pairs]
    return -(first - second).square().sum(dim=1)


def degrees(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """How many links both ends have that the model sees."""
    count = torch.bincount(graph.edge_index[0], minlength=len(graph.x))
    return count[pairs].sum(dim=0).double()

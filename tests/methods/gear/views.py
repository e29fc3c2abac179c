"""People in several views with their neighbours, made by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.methods.baselines.neighbors import Neighbors
from tests.graphs import random_graph


def viewed(views: int = 3, people: int = 30, d: int = 5, seed: int = 0) -> tuple[Tensor, Neighbors]:
    """Random people (m, views · d), of whom the first is alone, and their neighbours."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(people, views * d, generator=draw)
    edges = random_graph(n=people, edges=2 * people, seed=seed).edge_index
    edges = edges[:, (edges != 0).all(dim=0)]
    degree = torch.bincount(edges[1], minlength=people)
    return x, Neighbors.of_edges(edges, torch.ones(edges.shape[1]), degree)

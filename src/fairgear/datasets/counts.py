"""The statistics of a graph, as Table 1 of the paper counts them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from fairgear.graph import SensitiveGraph, groups_of
from fairgear.graph.targets import known_labels


@dataclass(frozen=True)
class GraphStatistics:
    """Counts of nodes, edges, groups and classes; undirected edges count once, and so do arcs.

    Of a sensitive number, groups are its five ranges.

    Example:
        >>> from fairgear.datasets import statistics
        >>> from fairgear.testing import toy_graph
        >>> found = statistics(toy_graph())
        >>> found.nodes, found.intra_group_edges + found.inter_group_edges == found.edges
        (160, True)
    """

    name: str
    nodes: int
    edges: int
    intra_group_edges: int
    inter_group_edges: int
    features: int
    average_degree: float
    """2·edges/nodes + 1, or arcs/nodes + 1: the paper counts one self-loop a node."""
    sensitive_rate: float
    """The share of group 1; NaN where there are more than two, or a number."""
    labelled: int
    positive_rate: float
    """NaN without known labels, and where they are not of two classes."""
    isolated: int
    train: int
    val: int
    test: int


def statistics(graph: SensitiveGraph) -> GraphStatistics:
    """Count a graph.

    Example:
        >>> from fairgear.datasets import statistics
        >>> from fairgear.testing import toy_graph
        >>> found = statistics(toy_graph())
        >>> found.nodes, found.labelled
        (160, 144)
    """
    n = int(graph.x.shape[0])
    source, target = graph.edge_index
    once = 1 if graph.directed else 2
    group = groups_of(graph)
    intra = int((group[source] == group[target]).sum()) // once
    labelled = known_labels(graph.y)
    known, two = int(labelled.sum()), graph.target.is_binary
    return GraphStatistics(
        name=graph.name,
        nodes=n,
        edges=graph.num_undirected_edges,
        intra_group_edges=intra,
        inter_group_edges=graph.num_undirected_edges - intra,
        features=int(graph.x.shape[1]),
        average_degree=graph.edge_index.shape[1] / n + 1,
        sensitive_rate=float(graph.sens.double().mean()) if graph.two_groups else math.nan,
        labelled=known,
        positive_rate=float(graph.y[labelled].double().mean()) if known and two else math.nan,
        isolated=n - len(torch.unique(graph.edge_index)),
        train=int(graph.train_mask.sum()),
        val=int(graph.val_mask.sum()),
        test=int(graph.test_mask.sum()),
    )

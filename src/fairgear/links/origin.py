"""Which pairs a model of links was fitted on: fingerprints of splits and of edges."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.split import LinkSplit


@dataclass(frozen=True)
class SplitOrigin:
    """What says whether two splits put the same pairs of one graph in question.

    Attributes:
        split: fingerprint of the pairs in question and of what they are for.
        edges: fingerprint of the graph's people and edges.

    Example:
        >>> from fairgear.links import split_links
        >>> from fairgear.links.origin import SplitOrigin
        >>> from fairgear.testing import toy_graph
        >>> one, other = (SplitOrigin.of(split_links(toy_graph(), seed=seed)) for seed in (0, 1))
        >>> one.split == other.split, one.edges == other.edges
        (False, True)
    """

    split: str
    edges: str

    @classmethod
    def of(cls, split: LinkSplit) -> Self:
        """That of a split, whatever the order of rows, pairs and edges is."""
        return cls(split_fingerprint(split), edges_fingerprint(split.graph))


def split_fingerprint(split: LinkSplit) -> str:
    """SHA-256 of the pairs in question, whatever the order of rows and pairs is."""
    graph, digest = split.graph, hashlib.sha256()
    for part in (split.train, split.val, split.test):
        ends = oriented(graph, part.ends)
        order = canonical_pairs(graph, ends)
        ids = graph.node_id.cpu()[ends[:, order]]
        digest.update(ids.numpy().tobytes())
        digest.update(part.linked[order].to(torch.int64).numpy().tobytes())
    return digest.hexdigest()


def edges_fingerprint(graph: SensitiveGraph) -> str:
    """SHA-256 of ids and edges, whatever the order of rows and edges is."""
    order, digest = graph.canonical, hashlib.sha256(b"directed" if graph.directed else b"")
    digest.update(graph.node_id.cpu()[order.rows].numpy().tobytes())
    for part in order.csr:
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    return digest.hexdigest()


def canonical_pairs(graph: SensitiveGraph, ends: Tensor) -> Tensor:
    """Places of pairs (2, m) sorted by the ids of their ends; see `oriented`."""
    first, second = graph.canonical.numbers[ends]
    order: Tensor = (first * len(graph.x) + second).argsort()
    return order


def oriented(graph: SensitiveGraph, ends: Tensor) -> Tensor:
    """Pairs whose first end has the lesser id, unless the order means something."""
    if graph.directed:
        return ends
    first, second = graph.canonical.numbers[ends]
    found: Tensor = torch.where(first < second, ends, ends.flip(0))
    return found

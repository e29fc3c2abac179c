"""Parts of a graph that a network can be run on: what its layers read around some people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from fairgear.graph.edges import degrees
from fairgear.methods.neighbors import Neighbors


@dataclass(frozen=True)
class NodeBatch:
    """Some people, and everyone whom the layers of a network must see to know about them."""

    neighbors: Neighbors
    rows: Tensor | None = None
    """(m,) the rows of the graph that take part, rising; None for all."""
    wanted: Tensor | None = None
    """Where among these the people are that the batch is about; None for all."""

    def inputs(self, values: Tensor) -> Tensor:
        """Of values for all rows of the graph those that take part, where the batch is."""
        taken = values if self.rows is None else values[self.rows]
        return taken.to(self.neighbors.degree.device)

    def outputs(self, values: Tensor) -> Tensor:
        """Of values for all who take part those of the people that the batch is about."""
        return values if self.wanted is None else values[self.wanted]

    def to(self, device: torch.device) -> NodeBatch:
        """The same on another device; the rows stay where the graph is, to be looked up there."""
        wanted = None if self.wanted is None else self.wanted.to(device)
        return replace(self, neighbors=self.neighbors.to(device), wanted=wanted)


@dataclass(frozen=True)
class Links:
    """The edges of an undirected graph, person by person."""

    ptr: Tensor
    """(n + 1,) where each row's neighbours begin."""
    index: Tensor
    """(E,) the neighbours, rising within a row."""

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> Self:
        """From edges as graphs store them: both directions, sorted."""
        ptr = torch.zeros(num_nodes + 1, dtype=torch.int64, device=edge_index.device)
        ptr[1:] = degrees(edge_index, num_nodes).cumsum(0)
        return cls(ptr, edge_index[1])

    @cached_property
    def degree(self) -> Tensor:
        """(n,) how many neighbours each row has."""
        return self.ptr.diff()

    @cached_property
    def everyone(self) -> NodeBatch:
        """The whole graph."""
        return NodeBatch(Neighbors.of_graph(self.ptr, self.index))

    def around(self, people: Tensor, hops: int, fanout: int = 0) -> NodeBatch:
        """What `hops` layers read around `people`, who may be in any order and come twice.

        Only those fewer than `hops` steps away have neighbours in the batch: the others are read,
        and what a network makes of them is not.

        Args:
            people: rows of the graph.
            hops: the layers of the network.
            fanout: neighbours of a person that are drawn, without replacement, from torch's
                generator; each stands for the same share of all. 0 for all neighbours.
        """
        n = len(self.degree)
        reached = torch.zeros(n, dtype=torch.bool, device=self.ptr.device)
        reached[people] = True
        frontier = reached.nonzero()[:, 0]
        parts = []
        for _ in range(hops):
            source, target, weight = self._neighbors_of(frontier, fanout)
            parts.append((source, target, weight))
            fresh = torch.zeros_like(reached)
            fresh[source] = True
            fresh &= ~reached
            reached |= fresh
            frontier = fresh.nonzero()[:, 0]
        rows = reached.nonzero()[:, 0]
        place = reached.cumsum(0) - 1
        source, target, weight = (torch.cat(part) for part in zip(*parts, strict=True))
        edge_index = torch.stack([place[source], place[target]])
        neighbors = Neighbors.of_edges(edge_index, weight, self.degree[rows])
        return NodeBatch(neighbors, rows, place[people])

    def _neighbors_of(self, people: Tensor, fanout: int) -> tuple[Tensor, Tensor, Tensor]:
        """Edges into `people` (source, target), and how many each stands for."""
        count = self.degree[people]
        owner = torch.repeat_interleave(count)
        rank = torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner]
        source = self.index[self.ptr[people][owner] + rank]
        if fanout == 0:
            return source, people[owner], torch.ones(len(owner), device=owner.device)
        # Shuffled within each person: the first ones of a person are then a draw of them.
        shuffled = (
            owner + torch.rand(len(owner), dtype=torch.float64, device=owner.device)
        ).argsort()
        kept = shuffled[rank < fanout]
        weight = count / count.clamp(min=1, max=fanout)
        return source[kept], people[owner[kept]], weight[owner[kept]].float()

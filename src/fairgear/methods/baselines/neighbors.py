"""Sums over neighbours by a sparse product, and the parts of a graph that batches need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairgear.graph.canonical import Canonical
from fairgear.graph.patched import strengths


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of m people, and everybody's degree in the whole graph.

    Layers scale by degrees instead of edge weights, so that one matrix serves all layers and a
    part of a graph is scaled as the whole is. Of a directed graph, a person's neighbours are those
    who point to them: messages go along arcs, as in PyG. With weights, a degree is their sum.
    """

    matrix: Tensor
    """(m, m) sparse: row i has the neighbours of person i, each with the number it stands for,
    times its weight."""
    transpose: Tensor
    """For the gradient; torch would make it anew in every step, for ten times the cost."""
    degree: Tensor
    """(m, 1), float32."""
    rows: Tensor | None = None
    """The people whom the matrix has rows for, where a layer gives only their features."""
    then: Neighbors | None = None
    """What the layers after the first read, where these are fewer people."""
    weighted: bool = False
    """Whether degrees are sums of weights."""

    @classmethod
    def of_graph(cls, ptr: Tensor, index: Tensor) -> Self:
        """Of a whole, undirected graph, where row i has the neighbours index[ptr[i]:ptr[i+1]]."""
        matrix = _matrix(ptr, index, torch.ones(len(index), device=index.device))
        return cls(matrix, matrix, ptr.diff().float()[:, None])

    @classmethod
    def of_links(
        cls, ptr: Tensor, index: Tensor, weight: Tensor, degree: Tensor, weighted: bool
    ) -> Self:
        """The same of a graph with directions or weights."""
        size = len(degree)
        row = torch.repeat_interleave(ptr.diff())
        backward = _of_pairs(index, row, (size, size), weight)
        degree = degree.float()[:, None]
        return cls(_matrix(ptr, index, weight), backward, degree, weighted=weighted)

    @classmethod
    def of_edges(
        cls, edge_index: Tensor, weight: Tensor, degree: Tensor, weighted: bool = False
    ) -> Self:
        """Some edges (2, E), from source to target, among as many people as have a degree."""
        source, target = edge_index
        size = len(degree)
        forward = _of_pairs(target, source, (size, size), weight)
        backward = _of_pairs(source, target, (size, size), weight)
        return cls(forward, backward, degree.float()[:, None], weighted=weighted)

    @classmethod
    def around(
        cls, edge_index: Tensor, degree: Tensor, inner: Tensor, weight: Tensor | None = None
    ) -> Self:
        """For prediction alone: edges to the people `inner`, the only ones whom layers are for.

        The first layer reads everybody, and the ones after it only the people `inner`.
        """
        source, target = edge_index
        place = torch.full((len(degree),), -1, device=degree.device)
        place[inner] = torch.arange(len(inner), device=degree.device)
        first = _of_pairs(place[target], source, (len(inner), len(degree)), weight)
        both = place[source] >= 0
        kept = None if weight is None else weight[both]
        later = _of_pairs(place[target[both]], place[source[both]], (len(inner), len(inner)), kept)
        degree = degree.float()[:, None]
        weighted = weight is not None
        then = cls(later, later, degree[inner], weighted=weighted)
        return cls(first, first, degree, inner, then, weighted)

    def own(self, x: Tensor) -> Tensor:
        """Of features of everybody those of the people whom a layer is for."""
        return x if self.rows is None else x[self.rows]

    def sum(self, x: Tensor) -> Tensor:
        """Σ over the neighbours."""
        total: Tensor = _Product.apply(x, self.matrix, self.transpose)  # type: ignore[no-untyped-call]  # torch gives it no type
        return total

    def mean(self, x: Tensor) -> Tensor:
        """Mean over the neighbours, by their weights; zero for a person without any."""
        degree = self.own(self.degree)
        # A sum of weights may be below 1; a count is not, unless it is an expectation.
        at_least = torch.where(degree > 0, degree, 1.0) if self.weighted else degree.clamp(min=1)
        return self.sum(x) / at_least

    def normalized(self, x: Tensor) -> Tensor:
        """D^-½ (A + I) D^-½ x, where D counts a person's neighbours and the person."""
        scale = (self.degree + 1).rsqrt()
        scaled = scale * x
        return self.own(scale) * (self.sum(scaled) + self.own(scaled))

    def to(self, device: torch.device) -> Neighbors:
        """The same on another device."""
        matrix, transpose = self.matrix.to(device), self.transpose.to(device)
        return Neighbors(matrix, transpose, self.degree.to(device), weighted=self.weighted)


class _Product(torch.autograd.Function):
    """matrix @ x, with the gradient by a given transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, transpose: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transpose @ gradient, None, None


def _of_pairs(
    row: Tensor, column: Tensor, shape: tuple[int, int], values: Tensor | None = None
) -> Tensor:
    """The sparse matrix of some places; of ones if values are not given."""
    order = (row * shape[1] + column).argsort()
    ptr = torch.zeros(shape[0] + 1, dtype=torch.int64, device=row.device)
    ptr[1:] = torch.bincount(row, minlength=shape[0]).cumsum(0)
    values = torch.ones(len(order), device=row.device) if values is None else values[order]
    return _matrix(ptr, column[order], values, shape[1])


def _matrix(ptr: Tensor, index: Tensor, values: Tensor, columns: int | None = None) -> Tensor:
    """A sparse matrix, square if not told; indices of 32 bits are the fast ones."""
    size = len(ptr) - 1
    columns = size if columns is None else columns
    with warnings.catch_warnings():
        # Torch says once per process that its sparse tensors are in beta.
        warnings.simplefilter("ignore")
        return torch.sparse_csr_tensor(
            ptr.int(), index.int(), values, (size, columns), check_invariants=False
        )


@dataclass(frozen=True)
class NodeBatch:
    """Some people, and everyone whom the layers of a network read around them."""

    neighbors: Neighbors
    rows: Tensor | None = None
    """(m,) the rows of the graph that take part, ascending; None for all."""
    targets: Tensor | None = None
    """The places among these of the people that the batch is about; None for all."""

    def inputs(self, values: Tensor) -> Tensor:
        """Of values for all rows of the graph those that take part, on the batch's device."""
        taken = values if self.rows is None else values[self.rows]
        return taken.to(self.neighbors.degree.device)

    def outputs(self, values: Tensor) -> Tensor:
        """Of values for all who take part those of the people that the batch is about."""
        return values if self.targets is None else values[self.targets]

    def people(self, places: Tensor) -> Tensor:
        """The rows of the graph at some places among those who take part."""
        return places if self.rows is None else self.rows[places.to(self.rows.device)]

    def to(self, device: torch.device) -> NodeBatch:
        """The same on another device; `rows` stay with the graph, which they index."""
        targets = None if self.targets is None else self.targets.to(device)
        return replace(self, neighbors=self.neighbors.to(device), targets=targets)


@dataclass(frozen=True)
class Links:
    """The neighbour lists of a graph; of a directed one, who points to each row."""

    ptr: Tensor
    """(n + 1,) where each row's neighbours begin."""
    index: Tensor
    """(E,) the neighbours, ascending within a row."""
    weight: Tensor | None = None
    """(E,) float32, of the entries; None if all count alike."""
    strength: Tensor | None = None
    """(n,) the sums of the weights, which are taken in double precision."""
    directed: bool = False

    @classmethod
    def of(cls, order: Canonical, device: torch.device | str = "cpu") -> Self:
        """The edges of a graph in canonical order."""
        lists, weights = order.incoming
        ptr, index = (torch.from_numpy(part) for part in lists)
        links = cls(ptr.to(device), index.to(device, torch.int64), directed=order.directed)
        if weights is None:
            return links
        strength = strengths(lists[0][:-1], np.diff(lists[0]).astype(np.int32), weights)
        each, total = (torch.from_numpy(of).to(device, torch.float32) for of in (weights, strength))
        return replace(links, weight=each, strength=total)

    @cached_property
    def count(self) -> Tensor:
        """(n,) how many neighbours each row has."""
        return self.ptr.diff()

    @cached_property
    def degree(self) -> Tensor:
        """(n,) the same, or the sum of their weights."""
        return self.count if self.strength is None else self.strength

    @cached_property
    def everyone(self) -> NodeBatch:
        """The whole graph."""
        if self.weight is None and not self.directed:
            return NodeBatch(Neighbors.of_graph(self.ptr, self.index))
        weight = torch.ones(len(self.index), device=self.index.device)
        weight = weight if self.weight is None else self.weight
        weighted = self.weight is not None
        return NodeBatch(Neighbors.of_links(self.ptr, self.index, weight, self.degree, weighted))

    def around(self, people: Tensor, hops: int, fanout: int = 0) -> NodeBatch:
        """What `hops` layers read around `people`, who may be in any order and repeated.

        Only those fewer than `hops` steps away have neighbours in the batch: the outputs of the
        others are not used.

        Args:
            people: rows of the graph.
            hops: the layers of the network; 0 where it reads no neighbours.
            fanout: neighbours of a person to sample, without replacement, from torch's
                generator; each stands for the same share of all. 0 for all neighbours.
        """
        n = len(self.degree)
        reached = torch.zeros(n, dtype=torch.bool, device=self.ptr.device)
        reached[people] = True
        frontier = reached.nonzero()[:, 0]
        none = self.index[:0]
        parts = [(none, none, torch.ones(0, device=none.device))]
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
        weighted = self.weight is not None
        neighbors = Neighbors.of_edges(edge_index, weight, self.degree[rows], weighted)
        return NodeBatch(neighbors, rows, place[people])

    def _neighbors_of(self, people: Tensor, fanout: int) -> tuple[Tensor, Tensor, Tensor]:
        """Edges into `people` (source, target), and how many each stands for."""
        count = self.count[people]
        owner = torch.repeat_interleave(count)
        rank = torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner]
        entry = self.ptr[people][owner] + rank
        source = self.index[entry]
        own = None if self.weight is None else self.weight[entry]
        if fanout == 0:
            ones = torch.ones(len(owner), device=owner.device)
            return source, people[owner], ones if own is None else own
        # Shuffled within each person, so that a person's first ones are a random sample.
        shuffled = (
            owner + torch.rand(len(owner), dtype=torch.float64, device=owner.device)
        ).argsort()
        kept = shuffled[rank < fanout]
        stands_for = (count / count.clamp(min=1, max=fanout))[owner[kept]].float()
        weight = stands_for if own is None else stands_for * own[kept]
        return source[kept], people[owner[kept]], weight


def link_numbers(neighbors: Neighbors) -> Tensor:
    """The number of each matrix entry's edge: the same in both directions, of arcs too."""
    row, column = entry_ends(neighbors)
    key = torch.minimum(row, column) * len(neighbors.degree) + torch.maximum(row, column)
    numbers: Tensor = torch.unique(key, return_inverse=True)[1]
    return numbers


def without_links(neighbors: Neighbors, numbers: Tensor, rate: float) -> Neighbors:
    """Neighbours without each edge, in both directions, with probability `rate`.

    `numbers` are the `link_numbers` of the neighbours.
    """
    if rate == 0 or len(numbers) == 0:
        return neighbors
    kept = (torch.rand(int(numbers.max()) + 1, device=numbers.device) >= rate)[numbers]
    return only_links(neighbors, kept, 1 - rate)


def only_links(neighbors: Neighbors, kept: Tensor, share: float) -> Neighbors:
    """Neighbours with some of the matrix entries, of which `kept` says the same in both directions.

    Args:
        neighbors: all of them.
        kept: (E,), which entries stay.
        share: how many stay on average, for the edges that a batch does not have.
    """
    row, column = entry_ends(neighbors)
    if neighbors.matrix is neighbors.transpose:
        # A whole graph stays sorted.
        before = F.pad(kept.cumsum(0), (1, 0))
        return Neighbors.of_graph(before[neighbors.matrix.crow_indices().long()], column[kept])
    weight = neighbors.matrix.values()
    seen, left = (
        torch.zeros(len(neighbors.degree), device=weight.device).index_add_(0, row, part)
        for part in (weight, weight * kept)
    )
    # At the rim of a batch edges are missing: they are counted at their expectation.
    missing = neighbors.degree[:, 0] - seen
    if neighbors.weighted:
        # Neighbours who were sampled may stand for more weight than there is.
        missing = missing.clamp(min=0)
    degree = left + share * missing
    edges = torch.stack([column, row])[:, kept]
    return Neighbors.of_edges(edges, weight[kept], degree, neighbors.weighted)


def entry_ends(neighbors: Neighbors) -> tuple[Tensor, Tensor]:
    """Rows and columns of the entries of the matrix."""
    count = neighbors.matrix.crow_indices().long().diff()
    return torch.repeat_interleave(count), neighbors.matrix.col_indices().long()

"""Sums over neighbours: one product with a sparse matrix, the same on every run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Neighbors:
    """Who is whose neighbour among m people, and how many neighbours each has in the whole graph.

    Layers scale by the degrees rather than by weights of edges, so that one matrix serves them all
    and a part of a graph is scaled as the whole is.
    """

    matrix: Tensor
    """(m, m) sparse: row i has the neighbours of person i, each at the number it stands for."""
    transpose: Tensor
    """For the gradient; torch would make it anew at every step, for ten times the cost."""
    degree: Tensor
    """(m, 1), float32."""

    @classmethod
    def of_graph(cls, ptr: Tensor, index: Tensor) -> Self:
        """Of a whole, undirected graph, where row i has the neighbours index[ptr[i]:ptr[i+1]]."""
        matrix = _matrix(ptr, index, torch.ones(len(index), device=index.device))
        return cls(matrix, matrix, ptr.diff().float()[:, None])

    @classmethod
    def of_edges(cls, edge_index: Tensor, weight: Tensor, degree: Tensor) -> Self:
        """Some edges (2, E), from source to target, among as many people as have a degree."""
        source, target = edge_index
        size = len(degree)
        forth = _of_pairs(target, source, weight, size)
        back = _of_pairs(source, target, weight, size)
        return cls(forth, back, degree.float()[:, None])

    def sum(self, x: Tensor) -> Tensor:
        """Σ over the neighbours."""
        total: Tensor = _Product.apply(x, self.matrix, self.transpose)  # type: ignore[no-untyped-call]  # torch gives it no type
        return total

    def mean(self, x: Tensor) -> Tensor:
        """Mean over the neighbours; zero for a person without any."""
        return self.sum(x) / self.degree.clamp(min=1)

    def normalized(self, x: Tensor) -> Tensor:
        """D^-½ (A + I) D^-½ x, where D counts a person's neighbours and the person."""
        scale = (self.degree + 1).rsqrt()
        scaled = scale * x
        return scale * (self.sum(scaled) + scaled)

    def to(self, device: torch.device) -> Neighbors:
        """The same on another device."""
        return Neighbors(self.matrix.to(device), self.transpose.to(device), self.degree.to(device))


class _Product(torch.autograd.Function):
    """matrix @ x, with the gradient by a transpose that is at hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, transpose: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transpose @ gradient, None, None


def _of_pairs(row: Tensor, column: Tensor, values: Tensor, size: int) -> Tensor:
    order = (row * size + column).argsort()
    ptr = torch.zeros(size + 1, dtype=torch.int64, device=row.device)
    ptr[1:] = torch.bincount(row, minlength=size).cumsum(0)
    return _matrix(ptr, column[order], values[order])


def _matrix(ptr: Tensor, index: Tensor, values: Tensor) -> Tensor:
    """A square sparse matrix; its indices have 32 bits, which is what is fast."""
    _hear_the_warnings()
    size = len(ptr) - 1
    return torch.sparse_csr_tensor(
        ptr.int(), index.int(), values, (size, size), check_invariants=False
    )


@cache
def _hear_the_warnings() -> None:
    """Have torch say now, to nobody, what it says once a process: that the format is in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.empty(0).long(), torch.empty(0), (1, 1))

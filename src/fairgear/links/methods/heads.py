"""Heads: from the representations of two people to the logit of a link."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

# Entries of what a head that is no product computes at a time.
_ENTRIES = 2**24


class PairHead(nn.Module, ABC):
    """Logits of pairs. Without directions, both orders of a pair have the same.

    Args:
        dim: of the representations.
        directed: whether the first person points to the second.
    """

    def __init__(self, dim: int, directed: bool) -> None:
        super().__init__()
        self.dim, self.directed = dim, directed

    @abstractmethod
    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits (m,) of pairs of representations (m, dim)."""

    def prepared(self, second: Tensor) -> Tensor:
        """What `block` reads of second people (b, dim): computed once for many blocks."""
        return second

    @abstractmethod
    def block(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits (a, b) of all pairs of (a, dim) and what is `prepared` of (b, dim)."""


class ProductHead(PairHead):
    """match(z_i, z_j) + u(z_i) + u(z_j) + b: many pairs are one product of matrices.

    The match is linear in both. u(z) = α·(z ∘ z) + β·z is a person's own part, with directions one
    for the source and one for the target: so that a logit can be less the distance of two people,
    ‖z_i − z_j‖² = ‖z_i‖² + ‖z_j‖² − 2⟨z_i, z_j⟩, and people can be popular.
    """

    def __init__(self, dim: int, directed: bool) -> None:
        super().__init__(dim, directed)
        self.bias = nn.Parameter(torch.zeros(()))
        # At first nobody is more popular than others.
        self.own = nn.Parameter(torch.zeros(2 if directed else 1, 2 * dim))

    @abstractmethod
    def source(self, z: Tensor) -> Tensor:
        """What the first person brings to the match."""

    @abstractmethod
    def target(self, z: Tensor) -> Tensor:
        """What the second person brings to the match."""

    def left(self, z: Tensor) -> Tensor:
        """The same, and the first person's own part."""
        own = torch.cat([z * z, z], dim=1) @ self.own[0]
        return torch.cat([self.source(z), own[:, None], torch.ones_like(own)[:, None]], dim=1)

    def right(self, z: Tensor) -> Tensor:
        """The same, and the second person's own part."""
        own = torch.cat([z * z, z], dim=1) @ self.own[-1]
        return torch.cat([self.target(z), torch.ones_like(own)[:, None], own[:, None]], dim=1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """See the base class."""
        return (self.left(first) * self.right(second)).sum(dim=1) + self.bias

    def prepared(self, second: Tensor) -> Tensor:
        """See the base class."""
        return self.right(second)

    def block(self, first: Tensor, second: Tensor) -> Tensor:
        """See the base class."""
        return self.left(first) @ second.T + self.bias


class DotHead(ProductHead):
    """The match c ⟨z_i, z_j⟩; with directions, of the projections of a source and of a target."""

    def __init__(self, dim: int, directed: bool) -> None:
        super().__init__(dim, directed)
        # As attention has it: the products of wide representations are no larger.
        self.scale = nn.Parameter(torch.tensor(dim**-0.5))
        self.first, self.second = (
            nn.Linear(dim, dim, bias=False) if directed else nn.Identity() for _ in range(2)
        )

    def source(self, z: Tensor) -> Tensor:
        """See the base class."""
        projected: Tensor = self.first(z)
        return self.scale * projected

    def target(self, z: Tensor) -> Tensor:
        """See the base class."""
        projected: Tensor = self.second(z)
        return projected


class BilinearHead(ProductHead):
    """The match z_iᵀ W z_j; without directions with (W + Wᵀ)/2 for W."""

    def __init__(self, dim: int, directed: bool) -> None:
        super().__init__(dim, directed)
        self.weight = nn.Parameter(torch.empty(dim, dim))
        nn.init.xavier_uniform_(self.weight)

    def source(self, z: Tensor) -> Tensor:
        """See the base class."""
        return z @ (self.weight if self.directed else (self.weight + self.weight.T) / 2)

    def target(self, z: Tensor) -> Tensor:
        """See the base class."""
        return z


class MlpHead(PairHead):
    """A hidden layer on z_i + z_j, z_i ∘ z_j and |z_i − z_j|, or on z_i, z_j and z_i ∘ z_j."""

    def __init__(self, dim: int, directed: bool) -> None:
        super().__init__(dim, directed)
        self.layers = nn.Sequential(nn.Linear(3 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """See the base class."""
        if self.directed:
            parts = [first, second, first * second]
        else:
            parts = [first + second, first * second, (first - second).abs()]
        logits: Tensor = self.layers(torch.cat(parts, dim=-1))
        return logits[..., 0]

    def block(self, first: Tensor, second: Tensor) -> Tensor:
        """See the base class."""
        width = max(1, _ENTRIES // (max(1, len(first)) * 3 * self.dim))
        parts = [
            self(first[:, None].expand(-1, len(part), -1), part.expand(len(first), -1, -1))
            for part in torch.split(second, width)
        ]
        return torch.cat(parts, dim=1)


HEADS: dict[str, type[PairHead]] = {"dot": DotHead, "bilinear": BilinearHead, "mlp": MlpHead}


class PairNetwork(nn.Module):
    """A network of people without its classifier, and a head for pairs of them.

    Args:
        people: the network.
        head: for pairs of its representations.
        shared: numbers that the links around a pair add, each by a weight that is learned.
    """

    def __init__(self, people: nn.Module, head: PairHead, shared: int = 0) -> None:
        super().__init__()
        self.people, self.head = people, head
        # At first, who shares neighbours is no likelier to be linked than others.
        self.shared = nn.Parameter(torch.zeros(shared)) if shared else None

    def forward(self, x: Tensor, neighbors: object) -> tuple[Tensor, Tensor]:
        """Representations (m, dim), twice: people have no logits."""
        z: Tensor = self.people(x, neighbors)[0]
        return z, z

    def logits(self, first: Tensor, second: Tensor, shared: Tensor | None) -> Tensor:
        """Of pairs (m,), from both representations and what their links say (m, shared)."""
        return self._added(self.head(first, second), shared)

    def block(self, first: Tensor, prepared: Tensor, shared: Tensor | None) -> Tensor:
        """Of all pairs (a, b), from what the head has `prepared` of (b, dim)."""
        return self._added(self.head.block(first, prepared), shared)

    def _added(self, logits: Tensor, shared: Tensor | None) -> Tensor:
        return logits if shared is None or self.shared is None else logits + shared @ self.shared

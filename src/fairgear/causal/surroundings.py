"""The people around some people, in several worlds of one graph side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.features.base import Floats, Integers
from fairgear.causal.local import LocalWorld
from fairgear.graph import SensitiveGraph

# Worlds of the first part, and about how many members a part may have.
_FIRST, _MEMBERS = 8, 100_000


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a network of so many layers reads to score some people, each in a world of its own.

    Members are sorted by world and canonical number.

    Attributes:
        world: (m,), the number of the world of each member.
        targets: places of the people in question, one after another of the first world, and so on.
        edges: (2, E), places (neighbour, person) for every neighbour of everybody nearer than
            `hops`; sorted by person.
            Of a directed graph, the neighbours are those who point to the person.
        degree: (m,), how many neighbours each has in their world, or the sum of their weights.
        inner: (m,), who is nearer than `hops`, so that all neighbours are members.
        rows: (m,), rows of the factual graph.
        x, sens: features (m, d) and attribute (m,) in their world; on the CPU.
        like: the factual graph.
        weight: (E,), of the edges; None if they have none.

    Example:
        >>> import torch
        >>> from fairgear.causal import Surroundings, for_graph
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> person = torch.tensor([3])
        >>> world = for_graph(graph).local(graph, person, 1 - graph.sens[person])
        >>> around = Surroundings.of([world], [person], hops=2)
        >>> around.targets.shape, around.x.shape[0] < graph.num_nodes
        ((1,), True)
    """

    world: Integers
    targets: Integers
    edges: Integers
    degree: NDArray[Any]
    inner: NDArray[np.bool_]
    rows: Tensor
    x: Tensor
    sens: Tensor
    like: SensitiveGraph
    weight: Floats | None = None

    @classmethod
    def of(cls, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor], hops: int) -> Self:
        """Around the rows `nodes[i]` of the factual graph in `worlds[i]`."""
        factual = worlds[0].factual
        order, lists = factual.canonical, factual.canonical.patched
        numbers = order.numbers
        members, inner, edges, degree, targets, x_at, before = [], [], [], [], [], [], 0
        weights, weighted = [], factual.edge_weight is not None
        for world, some in zip(worlds, nodes, strict=True):
            wanted = numbers[some.cpu()].numpy()
            removed, added = numbers[world.removed].numpy(), numbers[world.added].numpy()
            with lists.world(removed, added, world.added_weight.numpy()):
                found, nearer, joined, used = lists.around(wanted, hops)
                own = lists.strength(found) if weighted else lists.degree[found].astype(np.int64)
                degree.append(own)
            weights.append(used)
            members.append(found)
            inner.append(nearer)
            edges.append(joined + before)
            targets.append(np.searchsorted(found, wanted) + before)
            # Where the changed people are, −1 for those who are not around.
            place = np.minimum(np.searchsorted(found, numbers[world.rows].numpy()), len(found) - 1)
            there = found[place] == numbers[world.rows].numpy()
            x_at.append(np.where(there, place + before, -1))
            before += len(found)
        rows = order.rows[torch.from_numpy(np.concatenate(members))]
        here = rows.to(factual.x.device)
        x, sens = factual.x[here].cpu(), factual.sens[here].cpu()
        at = torch.from_numpy(np.concatenate(x_at))
        known = at >= 0
        x[at[known]] = torch.cat([world.x for world in worlds])[known].to(x.dtype)
        sens[at[known]] = torch.cat([world.sens for world in worlds])[known]
        return cls(
            np.repeat(np.arange(len(worlds)), [len(part) for part in members]),
            np.concatenate(targets),
            np.concatenate(edges, axis=1),
            np.concatenate(degree),
            np.concatenate(inner),
            rows,
            x,
            sens,
            factual,
            np.concatenate(weights) if weighted else None,
        )

    @classmethod
    def parts(
        cls, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor], hops: int
    ) -> Iterator[Self]:
        """The same, some worlds at a time: as many as fit, judged by those before."""
        size, done = _FIRST, 0
        while done < len(worlds):
            part = cls.of(worlds[done : done + size], nodes[done : done + size], hops)
            yield part
            done += size
            size = max(1, size * _MEMBERS // (len(part.world) + part.edges.shape[1] // 8 + 1))

    def people(self) -> SensitiveGraph:
        """The members as a graph without edges, for models that read none."""
        like, none = self.like, torch.empty(2, 0, dtype=torch.int64)
        return SensitiveGraph(
            *(self.x, none, None, self.sens),
            sens_column=like.sens_column,
            attributes=like.attributes,
            feature_names=like.feature_names,
        )

    @cached_property
    def rim(self) -> tuple[Integers, Integers]:
        """The members with neighbours who are no members' edges here, and how many those are."""
        known = np.bincount(self.edges[0][~self.inner[self.edges[0]]], minlength=len(self.world))
        missing = np.where(self.inner, 0, self.degree - known)
        at = np.flatnonzero(missing)
        return at, missing[at]

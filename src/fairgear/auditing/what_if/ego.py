"""A person's surroundings: who is linked to them in some world, and how links differ there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.people import is_guessed, person_name
from fairgear.auditing.what_if.records import Links, Member
from fairgear.causal import LocalWorld
from fairgear.graph import SensitiveGraph, degrees
from fairgear.metrics.inputs import Integers

# Members of a drawing, the person included: more cannot be told apart.
MOST_MEMBERS = 24
Pairs = tuple[tuple[int, ...], ...]


def short(value: float) -> float:
    """To six digits: more would be stored, and not be read."""
    return float(f"{value:.6g}")


class Egos:
    """The people around somebody on a factual graph."""

    def __init__(self, graph: SensitiveGraph) -> None:
        self.graph = graph
        self.degree: Integers = degrees(graph.edge_index, len(graph.x)).cpu().numpy()

    def pointing_to(self, row: int) -> Tensor:
        """The neighbours of a person; of a directed graph, those who point to them."""
        if self.graph.directed:
            source, target = self.graph.edge_index
            found: Tensor = source[target == row].cpu()
            return found
        return torch.from_numpy(self.linked_from(row))

    def linked_from(self, row: int) -> Integers:
        """Those whom a person points to."""
        order, (indptr, indices) = self.graph.canonical, self.graph.canonical.csr
        number = int(order.numbers[row])
        around = indices[indptr[number] : indptr[number + 1]].astype(np.int64)
        found: Integers = order.rows.numpy()[around]
        return found

    def around(self, row: int, worlds: Sequence[LocalWorld], first: Sequence[LocalWorld]) -> Ego:
        """Who is linked to a person on the factual graph or in one of these worlds.

        Those whose links with them differ in the `first` worlds come first, then other neighbours,
        then those of the other worlds; among each, those with the fewest links.
        """
        now = np.concatenate([self.linked_from(row), self.pointing_to(row).numpy()])
        new = [_other_ends(world.added, row) for world in worlds]
        moved = [_other_ends(of, row) for world in first for of in (world.added, world.removed)]
        near = np.unique(np.concatenate([now, *new]))
        near = near[near != row]
        ids = self.graph.node_id[torch.from_numpy(near).to(self.graph.node_id.device)]
        later = ~np.isin(near, np.concatenate([now[:0], *moved]))
        strange = ~np.isin(near, now) & later
        near = near[np.lexsort((ids.cpu().numpy(), self.degree[near], later, strange))]
        shown = np.concatenate([[row], near[: MOST_MEMBERS - 1]])
        return Ego(self, shown, len(near) + 1 - len(shown))


def _other_ends(links: Tensor, row: int) -> Integers:
    """Of the links (2, m) of a row."""
    ends = links.numpy()
    found: Integers = ends[::-1][ends == row]
    return found


class Ego:
    """The members of a drawing.

    Args:
        egos: of the factual graph.
        rows: of the members, the person first.
        hidden: people who are linked to the person and no members.
    """

    def __init__(self, egos: Egos, rows: Integers, hidden: int) -> None:
        self.rows, self.hidden = rows, hidden
        self._egos, self._graph = egos, egos.graph
        self._order = np.argsort(rows)
        self._sens = self._graph.sens[torch.from_numpy(rows).to(self._graph.sens.device)].cpu()

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """Who they are."""
        return tuple(
            Member(
                node_id=person_name(self._graph, row),
                sens=short(sens) if self._graph.continuous else sens,
                links=int(self._egos.degree[row]),
                guessed=is_guessed(self._graph, row),
            )
            for row, sens in zip(self.rows.tolist(), self._sens.tolist(), strict=True)
        )

    @cached_property
    def edges(self) -> Pairs:
        """The factual links among them."""
        found = [(row, self._egos.linked_from(row)) for row in self.rows.tolist()]
        first = np.repeat([row for row, _ in found], [len(others) for _, others in found])
        return self._pairs(np.stack([first, np.concatenate([others for _, others in found])]))

    def links(self, world: LocalWorld) -> Links:
        """How their links differ in a world."""
        gone, new = (self._pairs(of.numpy()) for of in (world.removed, world.added))
        both = set(gone) & set(new)
        return Links(
            tuple(pair for pair in gone if pair not in both),
            tuple(pair for pair in new if pair not in both),
        )

    def attributes(self, world: LocalWorld | None = None) -> tuple[float, ...]:
        """Their groups or numbers: the factual ones, or those in a world."""
        values = self._sens.clone()
        if world is not None:
            place, known = self._places(world.rows.numpy())
            values[torch.from_numpy(place[known])] = world.sens[torch.from_numpy(known)].to(values)
        return tuple(map(short, values.tolist()))

    def _places(self, rows: Integers) -> tuple[Integers, Integers]:
        """The places of rows among the members, and which of them are members."""
        at = np.searchsorted(self.rows, rows, sorter=self._order)
        place = self._order[np.minimum(at, len(self._order) - 1)]
        known = self.rows[place] == rows
        return place, np.asarray(known)

    def _pairs(self, ends: Integers) -> Pairs:
        """Links (2, m) between rows as pairs of places, each once, sorted."""
        (first, one), (second, two) = self._places(ends[0]), self._places(ends[1])
        inside = one & two
        pairs = np.stack([first[inside], second[inside]])
        if not self._graph.directed:
            pairs = np.sort(pairs, axis=0)
        return tuple(tuple(pair) for pair in np.unique(pairs.T, axis=0).tolist())

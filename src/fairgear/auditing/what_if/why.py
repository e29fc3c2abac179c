"""Why the answer to a person is another in a world: which of the things that move there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.people import person_name
from fairgear.auditing.what_if.controls import group_words
from fairgear.auditing.what_if.features import Features
from fairgear.auditing.what_if.records import Part, Why
from fairgear.auditing.what_if.subsets import Search, Set, Tried
from fairgear.causal import LocalWorld
from fairgear.graph import SensitiveGraph
from fairgear.metrics.inputs import Floats, Integers

# What the model says of the person in each of some worlds.
Ask = Callable[[Iterable[LocalWorld]], Sequence[Predictions]]


@dataclass(frozen=True)
class Move:
    """A part, and where it is in the world.

    Attributes:
        part: in words.
        columns: of the person's features.
        attribute: whether the person's attribute moves.
        removed, added: which links of the world.
        others: whether the other people of the world move.
    """

    part: Part
    columns: tuple[int, ...] = ()
    attribute: bool = False
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    others: bool = False


class Moves:
    """Everything that moves for a person between the factual graph and a world.

    Args:
        features: of the factual graph.
        row: the person.
        world: differences from the factual graph.
    """

    def __init__(self, features: Features, row: int, world: LocalWorld) -> None:
        self._features, self._row, self._world = features, row, world
        self._graph: SensitiveGraph = features.graph
        self._own = world.rows == row
        self._before = self._graph.x[row].cpu()
        self._sens = self._graph.sens[row].cpu()
        own, removed, added = self._of_person(), *self._ends()
        links = self._links(removed, added)
        self.each = [*own, *links, *self._around(links)]

    def world(self, parts: Sequence[Move]) -> LocalWorld:
        """The factual graph with some of the moves alone."""
        world = self._world
        columns = [column for part in parts for column in part.columns]
        x, sens = world.x.to(self._before.dtype, copy=True), world.sens.clone()
        kept = torch.full((len(world.rows),), any(part.others for part in parts))
        if bool(self._own.any()):
            at = int(self._own.nonzero()[0])
            attribute = any(part.attribute for part in parts)
            mixed = self._before.clone()
            mixed[columns] = x[at, columns]
            x[at] = mixed
            sens[at] = sens[at] if attribute else self._sens.to(sens.dtype)
            kept[at] = attribute or bool(columns)
        removed = sorted(one for part in parts for one in part.removed)
        added = sorted(one for part in parts for one in part.added)
        weight = world.added_weight
        return LocalWorld(
            self._graph,
            world.rows[kept],
            sens[kept],
            x[kept],
            world.removed[:, removed],
            world.added[:, added],
            added_weight=weight[added] if len(weight) else weight,
            forgets=True,
        )

    def _of_person(self) -> list[Move]:
        """The attribute, then each column of the data."""
        if not bool(self._own.any()):
            return []
        x = self._world.x[self._own][0].to(self._before.dtype)
        moved = set((x != self._before).nonzero()[:, 0].tolist())
        before, after = self._features.values(self._row, x[None])
        found = []
        for place, column in enumerate(self._features.original.each):
            here = tuple(sorted(moved & set(column.features)))
            if here:
                words = [self._features.words(place, float(of[place])) for of in (before, after)]
                if words[0] == words[1]:
                    # Less than what the data can say: as the model read it.
                    words = [f"{float(of[here[0]]):.6g}" for of in (self._before, x)]
                found.append(Move(Part("feature", column.name, *words), here))
            moved -= set(column.features)
        # What is left are codes of the attribute itself.
        names = ", ".join(one.name for one in self._graph.sensitive_attributes)
        words = [self._group(of) for of in (self._sens, self._world.sens[self._own][0])]
        attribute = Move(Part("feature", names, *words), tuple(sorted(moved)), attribute=True)
        return [attribute, *found]

    def _group(self, sens: Tensor) -> str:
        value = sens.item()
        return f"{value:.6g}" if self._graph.continuous else group_words(self._graph)[int(value)]

    def _ends(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The person's own links that go and come: by the other end, which of the world's."""
        return self._by_end(self._world.removed.numpy()), self._by_end(self._world.added.numpy())

    def _by_end(self, pairs: Integers) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for at in np.flatnonzero((pairs == self._row).any(axis=0)).tolist():
            first, second = pairs[:, at].tolist()
            found.setdefault(second if first == self._row else first, []).append(at)
        return found

    def _links(self, removed: dict[int, list[int]], added: dict[int, list[int]]) -> list[Move]:
        found = []
        for other in sorted(removed.keys() | added.keys(), key=self._id):
            gone, new = tuple(removed.get(other, ())), tuple(added.get(other, ()))
            name = str(person_name(self._graph, other))
            if self._same(gone, new):
                words = [self._weights(gone), ", ".join(map(_words, self._new_weights(new)))]
                found.append(Move(Part("weight", name, *words), removed=gone, added=new))
                continue
            if gone:
                found.append(Move(Part("gone", name), removed=gone))
            if new:
                found.append(Move(Part("new", name), added=new))
        kinds = ("gone", "new", "weight")
        return sorted(found, key=lambda move: kinds.index(move.part.kind))

    def _around(self, own: Sequence[Move]) -> list[Move]:
        """What changes for others."""
        known = [{one for move in own for one in of(move)} for of in _WHICH]
        counts = (self._world.removed.shape[1], self._world.added.shape[1])
        left = [
            tuple(at for at in range(count) if at not in these)
            for count, these in zip(counts, known, strict=True)
        ]
        others = bool((~self._own).any())
        if not (others or left[0] or left[1]):
            return []
        return [Move(Part("around", ""), removed=left[0], added=left[1], others=others)]

    def _id(self, row: int) -> int:
        return int(self._graph.node_id[row])

    def _same(self, gone: tuple[int, ...], new: tuple[int, ...]) -> bool:
        """Whether the same links come back, with other weights."""
        pairs = [
            {tuple(pair) for pair in of[:, list(places)].T.tolist()}
            for of, places in ((self._world.removed, gone), (self._world.added, new))
        ]
        return bool(gone) and pairs[0] == pairs[1]

    def _weights(self, gone: tuple[int, ...]) -> str:
        assert self._graph.edge_weight is not None
        (source, target), weights = self._graph.edge_index, self._graph.edge_weight
        found = []
        for first, second in self._world.removed[:, list(gone)].T.tolist():
            found.extend(weights[(source == first) & (target == second)].tolist())
        return ", ".join(map(_words, found))

    def _new_weights(self, new: tuple[int, ...]) -> list[float]:
        found: list[float] = self._world.added_weight[list(new)].tolist()
        return found


# Which links of the world a move has.
_WHICH: tuple[Callable[[Move], tuple[int, ...]], ...] = (
    lambda move: move.removed,
    lambda move: move.added,
)


def explain(moves: Moves, ask: Ask, before: Predictions, after: Predictions) -> Why | None:
    """The smallest set of moves with which the answer is the one after; None if not even all do.

    `before` and `after` are the predictions of the person on the factual graph and in the world.
    """
    toward = _Toward(before, after)

    def tried(sets: Sequence[Set]) -> list[Tried]:
        worlds = (moves.world([moves.each[at] for at in one]) for one in sets)
        return [toward.of(answer) for answer in ask(worlds)]

    search = Search(len(moves.each), tried)
    if not search.tried(tuple(range(len(moves.each)))).other:
        # Rounding at the threshold, or a world that is more than its differences.
        return None
    found, exact = search.smallest()
    return Why(
        parts=tuple(moves.each[at].part for at in found),
        score=search.tried(found).score,
        exact=exact,
        moved=len(moves.each),
    )


class _Toward:
    """Whether an answer is the one in a world, and how far its score moved towards that."""

    def __init__(self, before: Predictions, after: Predictions) -> None:
        self._before, self._after = before, after
        self._wanted = int(before.how.changes(before.labels, after.labels)[0])

    def of(self, answer: Predictions) -> Tried:
        before, after, how = self._before, self._after, self._before.how
        if how.ordered:
            other = int(how.changes(before.labels, answer.labels)[0]) == self._wanted
            moved = self._wanted * float(how.moves(before.scores, answer.scores)[0])
        else:
            other = bool(answer.labels[0] == after.labels[0])
            moved = float(_lead(answer.scores, before, after) - _lead(before.scores, before, after))
        return Tried(other, moved, float(answer.of_answer(before)[0]))


def _lead(scores: Floats, before: Predictions, after: Predictions) -> float:
    """Of several classes: by how much the answer in the world leads before the factual one."""
    return float(scores[0, int(after.labels[0])] - scores[0, int(before.labels[0])])


def _words(value: float) -> str:
    return f"{value:.6g}"

"""Recommendations: people's lists as they are and in other worlds, and whom they expose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.effects import AVERAGE
from fairgear.auditing.people import person_name
from fairgear.auditing.world import World
from fairgear.graph import SensitiveGraph, communities, groups_of, regions
from fairgear.links.base import PairScorer
from fairgear.links.exposure import GroupShares, candidates_by_group, listed_by_group
from fairgear.links.lists import top_lists
from fairgear.links.result import (
    Exposure,
    ListChange,
    Listed,
    Lists,
    PersonLists,
    WorldList,
)
from fairgear.metrics import (
    UNDEFINED,
    Estimate,
    draws_error,
    rate_interval,
)
from fairgear.metrics.inputs import Floats, Integers

FACTUAL, SELF = "factual", "self"
# People whose lists are kept in full: half of them those whose lists change most.
SHOWN = 12


@dataclass(frozen=True, eq=False)
class _World:
    """The lists in one world, and the scores of all who are in them or in the factual ones."""

    intervention: str
    rows: Tensor
    """(b, k), −1 where a list is shorter."""
    scores: Floats
    """(b, k), NaN likewise."""
    of_factual: Floats
    """(b, k), of those in the factual list."""


@dataclass(eq=False)
class ListReader:
    """Reads the lists of some people in every world.

    Candidates are the same in all worlds: everybody but oneself and those whom one is linked with
    in what models see of the graph as it is.

    Args:
        graph: what models see of the graph as it is.
        people: rows of whose lists are compared.
        alone: rows of those whose list is also read in the world of themselves alone.
        k: places.
    """

    graph: SensitiveGraph
    people: Tensor
    alone: Tensor
    k: int
    _factual: Tensor = field(init=False)
    _factual_scores: Floats = field(init=False)
    _own: Tensor = field(init=False)
    _place: dict[int, int] = field(init=False)
    _changes: dict[str, list[Floats]] = field(init=False, default_factory=dict)
    _counted: dict[str, list[tuple[Floats, Floats]]] = field(init=False, default_factory=dict)
    _kept: list[_World] = field(init=False, default_factory=list)
    _alone: dict[int, tuple[float, _World]] = field(init=False, default_factory=dict)

    def factual(self, scorer: PairScorer) -> None:
        """Read the lists as they are; comes first."""
        self._factual = self._lists(scorer, self.people)
        self._factual_scores = _scores(scorer, self.people, self._factual)
        self._own = self._lists(scorer, self.alone)
        self._place = {row: place for place, row in enumerate(self.alone.tolist())}
        self._count(FACTUAL, self._factual)

    def world(self, world: World, scorer: PairScorer) -> None:
        """Read the lists in a world of everybody."""
        found = self._lists(scorer, self.people)
        name = world.intervention
        self._changes.setdefault(name, []).append(changes(self._factual, found))
        self._count(name, found)
        if world.draw == 0:
            given = _scores(scorer, self.people, found)
            before = _scores(scorer, self.people, self._factual)
            self._kept.append(_World(name, found, given, before))

    def own(self, row: int, scorer: PairScorer) -> None:
        """Read the list of a person in the world of themselves alone."""
        place = self._place.get(row)
        if place is None:
            return
        one, before = self.alone[place : place + 1], self._own[place : place + 1]
        found = self._lists(scorer, one)
        given, old = (_scores(scorer, one, rows) for rows in (found, before))
        kept = _World(SELF, found, given, old)
        self._alone[row] = (float(changes(before, found)[0]), kept)

    def measured(self, whole: SensitiveGraph, *, level: float, seed: int) -> MeasuredLists:
        """What the lists show; `whole` is the graph with all its edges."""
        clusters, parts = (of(whole).cpu().numpy() for of in (communities, regions))
        owners = self.people.numpy()
        rows = [
            _change(name, draws, clusters[owners], parts[owners], level)
            for name, draws in self._changes.items()
        ]
        if rows:
            average = [np.mean(draws, axis=0) for draws in self._changes.values()]
            ends = rate_interval(
                np.mean(average, axis=0), clusters[owners], level=level, regions=parts[owners]
            )
            errors = [row.error for row in rows if row.error is not None]
            error = math.sqrt(sum(one * one for one in errors)) / len(rows) if errors else None
            mean, drawn = float(np.mean(average)), sum(row.draws for row in rows)
            rows.append(ListChange(AVERAGE, mean, ends, error, len(owners), drawn))
        if self._alone:
            own = np.array(list(self._alone))
            moved = np.array([change for change, _ in self._alone.values()])
            rows.append(_change(SELF, [moved], clusters[own], parts[own], level))
        exposed = self._exposure(clusters[owners], level, seed)
        lists = Lists(tuple(rows), exposed.rows, self._shown())
        return MeasuredLists(lists, exposed.gap)

    def _lists(self, scorer: PairScorer, rows: Tensor) -> Tensor:
        return top_lists(scorer, rows, self.k, exclude=self.graph)

    @property
    def _groups(self) -> Integers:
        found: Integers = groups_of(self.graph).cpu().numpy()
        return found

    def _count(self, name: str, rows: Tensor) -> None:
        counted = listed_by_group(rows, self._groups)
        self._counted.setdefault(name, []).append(counted)

    def _exposure(self, clusters: Integers, level: float, seed: int) -> _Exposed:
        could = candidates_by_group(self.graph, self.people)
        rows, gap = [], Estimate(math.nan, UNDEFINED)
        for name, draws in self._counted.items():
            places, weighted = (np.mean(part, axis=0) for part in zip(*draws, strict=True))
            shares = GroupShares(could, places, weighted, clusters, level, seed)
            rows += shares.rows(name)
            if name == FACTUAL:
                gap = shares.gap()
        return _Exposed(tuple(rows), gap)

    def _shown(self) -> tuple[PersonLists, ...]:
        each = [np.mean(draws, axis=0) for draws in self._changes.values()]
        change = np.mean(each, axis=0) if each else np.zeros(len(self.people))
        # Equal ones by id, as `people` are; then others by the hash that chose them all.
        most = np.argsort(-change, kind="stable")[: SHOWN // 2].tolist()
        others = [place for place in range(len(change)) if place not in most]
        step = max(1, len(others) // max(1, SHOWN - len(most)))
        chosen = [*most, *others[::step][: SHOWN - len(most)]]
        return tuple(self._person(place, float(change[place])) for place in chosen)

    def _person(self, place: int, change: float) -> PersonLists:
        row = int(self.people[place])
        factual = self._factual[place]
        worlds = [self._shown_world(place, one, factual) for one in self._kept]
        if row in self._alone:
            worlds.append(self._shown_world(0, self._alone[row][1], factual))
        return PersonLists(
            person=person_name(self.graph, row),
            group=int(self._groups[row]),
            change=change,
            factual=self._listed(factual, self._factual_scores[place]),
            worlds=tuple(worlds),
        )

    def _shown_world(self, place: int, world: _World, factual: Tensor) -> WorldList:
        rows = world.rows[place]
        before, after = set(factual.tolist()) - {-1}, set(rows.tolist()) - {-1}
        entered = [row for row in rows.tolist() if row in after - before]
        gone = torch.tensor([row in before - after for row in factual.tolist()], dtype=torch.bool)
        left = torch.where(gone, factual, -1)
        return WorldList(
            world.intervention,
            self._listed(rows, world.scores[place]),
            tuple(person_name(self.graph, row) for row in entered),
            self._listed(left, world.of_factual[place]),
        )

    def _listed(self, rows: Tensor, scores: Floats) -> tuple[Listed, ...]:
        groups = self._groups
        return tuple(
            Listed(person_name(self.graph, row), int(groups[row]), float(score))
            for row, score in zip(rows.tolist(), scores, strict=True)
            if row >= 0
        )


@dataclass(frozen=True)
class MeasuredLists:
    """The lists' part of an audit.

    Attributes:
        lists: for the audit.
        gap: the largest difference of two groups' relative exposure in the factual lists.
    """

    lists: Lists
    gap: Estimate


@dataclass(frozen=True)
class _Exposed:
    rows: tuple[Exposure, ...]
    gap: Estimate


def changes(before: Tensor, after: Tensor) -> Floats:
    """1 − |L ∩ L'| / |L| of lists (b, k), −1 in empty places; 0 where there was no list.

    Example:
        >>> import torch
        >>> from fairgear.links.recommendations import changes
        >>> changes(torch.tensor([[4, 7, 2, 9]]), torch.tensor([[9, 1, 4, 3]])).tolist()
        [0.5]
    """
    there = before >= 0
    same = (before[:, :, None] == after[:, None, :]).any(dim=2) & there
    total = there.sum(dim=1)
    kept = same.sum(dim=1).double() / total.clamp(min=1)
    found: Floats = torch.where(total > 0, 1 - kept, 0.0).numpy()
    return found


def _change(
    name: str, draws: Sequence[Floats], clusters: Integers, parts: Integers, level: float
) -> ListChange:
    each = np.mean(draws, axis=0)
    error = draws_error(np.array([one.mean() for one in draws]))
    return ListChange(
        name,
        float(each.mean()),
        rate_interval(each, clusters, level=level, regions=parts),
        None if math.isnan(error) else error,
        len(each),
        len(draws),
    )


def _scores(scorer: PairScorer, people: Tensor, rows: Tensor) -> Floats:
    """Scores (b, k) of people with those in their lists, NaN in empty places."""
    found = np.full(rows.shape, math.nan)
    there = rows >= 0
    owners = people[:, None].expand(rows.shape)[there]
    if len(owners):
        found[there.numpy()] = scorer.pairs(torch.stack([owners, rows[there]]))
    return found

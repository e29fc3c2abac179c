"""Six people, all 64 worlds: what an audit of links says of each world it asks."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph, datasets
from fairgear.auditing import Worlds
from fairgear.causal import at_random, for_graph
from fairgear.hashing import pair_uniform
from fairgear.links import LinkAudit, LinkSplit, Pairs, audit_links
from fairgear.links.result import LinkFlips
from tests.links.models import everything, features, same_group, surroundings, traits

N, K = 6, 2
DRAWS = 60
MODELS = {model.__name__: model for model in (same_group, traits, features, surroundings)}
MODELS["everything"] = everything
# Above which a link is predicted: between the scores of some pairs.
THRESHOLDS = {"same_group": 0.5, "traits": 0.5, "features": 0.6, "surroundings": 0.6}
Assignment = tuple[int, ...]


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    """Edges depend on s as much as on the rest; eight pairs are in question, six are audited."""
    graph = datasets.load("synthetic", n=N, seed=5, d_z=3, d=2, a=0.6, threshold=0.8)
    assert 0 < int(graph.sens.sum()) < N
    ends = torch.combinations(torch.arange(N)).T
    order = torch.tensor([0, 3, 5, 7, 9, 11, 13, 14, 1, 2, 4, 6, 8, 10, 12])
    linked = {tuple(edge) for edge in graph.edge_index.T.tolist()}

    def part(places: torch.Tensor) -> Pairs:
        chosen = ends[:, places]
        known = [int(tuple(pair) in linked) for pair in chosen.T.tolist()]
        return Pairs(chosen, torch.tensor(known))

    return LinkSplit(graph, part(order[6:7]), part(order[7:8]), part(order[:6]))


@pytest.fixture(scope="module")
def worlds(split: LinkSplit) -> Worlds:
    return Worlds(split.graph, draws=DRAWS)


@pytest.fixture(scope="module")
def every_world(split: LinkSplit) -> dict[Assignment, SensitiveGraph]:
    truth = for_graph(split.graph)
    return {
        sens: truth.counterfactual(split.graph, torch.tensor(sens))
        for sens in product((0, 1), repeat=N)
    }


def hashed(one: int, other: int, stream: str) -> float:
    return float(pair_uniform(np.array([one]), np.array([other]), 0, stream)[0])


class Enumerated:
    """A model, its audit, and what it answers in each of the 64 worlds."""

    def __init__(
        self,
        name: str,
        split: LinkSplit,
        worlds: Worlds,
        every_world: dict[Assignment, SensitiveGraph],
    ) -> None:
        self.model, self.threshold = MODELS[name], THRESHOLDS.get(name, 0.6)
        self.split, self.worlds, self.name = split, worlds, name
        self.ends = split.test.ends
        before = self.labels(split.graph)
        self.flipped = {sens: self.labels(world) != before for sens, world in every_world.items()}
        self.lists = {sens: self.top(world) for sens, world in every_world.items()}

    @cached_property
    def audit(self) -> LinkAudit:
        """What was measured of it."""
        settings: dict[str, Any] = {"threshold": self.threshold, "k": K}
        return audit_links(self.model, self.split, worlds=self.worlds, **settings)

    def labels(self, world: SensitiveGraph) -> NDArray[Any]:
        """Predicted links, without any edge between a pair in question.

        Of edges that only the world has, the same share is hidden.
        """
        asked = {frozenset(pair) for pair in self.split.asked.T.tolist()}
        known = {frozenset(edge) for edge in self.split.graph.edge_index.T.tolist()}
        share = len(known & asked) / len(known)
        kept = [
            frozenset(edge) not in asked
            and (frozenset(edge) in known or hashed(edge[0], edge[1], "hidden") >= share)
            for edge in world.edge_index.T.tolist()
        ]
        seen = world.replace(edge_index=world.edge_index[:, torch.tensor(kept, dtype=torch.bool)])
        scores: NDArray[Any] = self.model(seen, self.ends).numpy()
        return scores > self.threshold

    def top(self, world: SensitiveGraph) -> list[list[int]]:
        """Everybody's list: the best K of those whom they are not linked with factually."""
        known = {tuple(edge) for edge in self.split.input.edge_index.T.tolist()}
        seen, found = self.split.seen(world), []
        for one in range(N):
            others = [two for two in range(N) if two != one and (one, two) not in known]
            pairs = torch.tensor([[one] * len(others), others])
            scores = self.model(seen, pairs).tolist() if others else []
            order = [hashed(one, two, "lists") for two in others]
            ranked = sorted(zip([-s for s in scores], order, others, strict=True))
            found.append([two for _, _, two in ranked[:K]])
        return found

    def row(self, intervention: str) -> LinkFlips:
        (found,) = (one for one in self.audit.flips if one.intervention == intervention)
        return found


@pytest.fixture(scope="module", params=sorted(MODELS))
def case(
    request: pytest.FixtureRequest,
    split: LinkSplit,
    worlds: Worlds,
    every_world: dict[Assignment, SensitiveGraph],
) -> Enumerated:
    return Enumerated(request.param, split, worlds, every_world)


def test_each_world_of_everybody(case: Enumerated, worlds: Worlds) -> None:
    """Pair by pair, what flips in each world that was asked is what enumeration says."""
    table = case.audit.pairs
    means = []
    for rate, draws in worlds.assignments.items():
        each = np.stack([case.flipped[tuple(sens.tolist())] for sens in draws])
        found = table[f"flip_rate_{rate:g}"].to_numpy()
        np.testing.assert_allclose(found, each.mean(axis=0), atol=1e-12)
        means.append(each.mean())
        assert case.row(f"rate {rate:g}").rate == pytest.approx(each.mean(), abs=1e-12)
    assert case.audit.metrics["delta_cf"] == pytest.approx(np.mean(means), abs=1e-12)


def test_the_draws_estimate_the_mean_over_all_assignments(case: Enumerated) -> None:
    half = [who.mean() for sens, who in case.flipped.items() if sum(sens) == N // 2]
    assert len(half) == math.comb(N, N // 2)
    found = case.row("rate 0.5")
    assert abs(found.rate - np.mean(half)) <= 4 * (found.error or 0.0) + 1e-12


def test_either_end_and_both_ends(case: Enumerated) -> None:
    own, table = case.split.graph.sens.tolist(), case.audit.pairs
    for place, (one, two) in enumerate(case.ends.T.tolist()):

        def flips(*changed: int, place: int = place) -> bool:
            world = tuple(1 - s if i in changed else s for i, s in enumerate(own))
            return bool(case.flipped[world][place])

        row = table.iloc[place]
        assert (row["source"], row["target"]) == (one, two)
        assert row["flip_either_end"] == (flips(one) + flips(two)) / 2
        assert row["flip_both_ends"] == flips(one, two)


def test_neighbours(case: Enumerated, split: LinkSplit) -> None:
    """The random worlds in which both ends kept their values."""
    own = split.graph.sens
    drawn = [at_random(split.graph, draw=draw) for draw in range(DRAWS)]
    for place, pair in enumerate(case.ends.T):
        each = [
            case.flipped[tuple(sens.tolist())][place]
            for sens in drawn
            if torch.equal(sens[pair], own[pair])
        ]
        assert len(each) > 5
        found = case.audit.pairs["flip_neighbours"][place]
        assert found == pytest.approx(np.mean(each), abs=1e-12)


def test_lists(case: Enumerated, worlds: Worlds) -> None:
    """Compared person by person with lists that were sorted one by one."""
    lists = case.audit.lists
    assert lists is not None
    factual = case.lists[tuple(case.split.graph.sens.tolist())]
    changes = {row.intervention: row for row in lists.changes}

    def change(place: int, world: Assignment) -> float:
        before = factual[place]
        return 1 - len(set(before) & set(case.lists[world][place])) / len(before)

    for rate, draws in worlds.assignments.items():
        each = [change(i, tuple(sens.tolist())) for sens in draws for i in range(N)]
        assert changes[f"rate {rate:g}"].change == pytest.approx(np.mean(each), abs=1e-12)
    own = case.split.graph.sens.tolist()
    alone = [
        change(i, tuple(1 - s if i == j else s for j, s in enumerate(own)))
        for i in sorted(set(case.ends.flatten().tolist()))
    ]
    assert changes["self"].change == pytest.approx(np.mean(alone), abs=1e-12)
    for person in lists.people:
        assert [one.person for one in person.factual] == factual[int(person.person)]


def test_what_is_known_without_counting(case: Enumerated) -> None:
    found = case.audit.metrics
    four = [value for key, value in found.items() if key.startswith("delta_cf")]
    if case.name == "traits":
        assert four == [0.0] * 4
        assert found["list_change"] == found["list_change_alone"] == 0
    elif case.name == "same_group":
        assert found["delta_cf_either"] == 1
        assert found["delta_cf_both_ends"] == found["delta_cf_neighbours"] == 0
        copying = case.audit.references[0].metrics
        assert {key: copying[key] for key in copying} == {key: found[key] for key in copying}
    else:
        assert any(value > 0 for value in four)


def test_the_worlds_tell_the_models_apart(
    split: LinkSplit, worlds: Worlds, every_world: dict[Assignment, SensitiveGraph]
) -> None:
    for name in ("features", "surroundings", "everything"):
        found = Enumerated(name, split, worlds, every_world)
        assert len({tuple(who.tolist()) for who in found.flipped.values()}) > 4, name
        assert len({str(lists) for lists in found.lists.values()}) > 4, name


@pytest.mark.parametrize("name", ["surroundings", "everything"])
def test_answers_would_be_others_with_the_pairs_in_question(
    split: LinkSplit,
    worlds: Worlds,
    every_world: dict[Assignment, SensitiveGraph],
    name: str,
) -> None:
    """So the tests above say whether they were removed in every world."""
    found = Enumerated(name, split, worlds, every_world)
    hidden = [found.labels(world) for world in every_world.values()]
    shown = [
        found.model(world, found.ends).numpy() > found.threshold for world in every_world.values()
    ]
    assert not np.array_equal(hidden, shown)

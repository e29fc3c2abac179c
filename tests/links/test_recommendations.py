"""Lists in other worlds and whom they expose, against loops over people."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.links import LinkAudit, LinkSplit, audit_links, split_links, top_lists
from fairgear.links.adapters import adapt_links
from fairgear.links.recommendations import (
    candidates_by_group,
    changes,
    listed_by_group,
)
from fairgear.links.result import Exposure, Lists, PersonLists
from fairgear.testing import toy_graph
from tests.links.models import alike, degrees


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    return split_links(toy_graph(sens="categorical"))


@pytest.fixture(scope="module")
def audit(split: LinkSplit) -> LinkAudit:
    return audit_links(alike, split, draws=2, self_pairs=8, list_people=40, k=5)


def lists_of(audit: LinkAudit) -> Lists:
    assert audit.lists is not None
    return audit.lists


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_changes_are_counted(people: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def drawn() -> list[list[int]]:
        lengths = rng.integers(0, k + 1, people)
        return [[*rng.permutation(8)[:some], *[-1] * (k - some)] for some in lengths]

    before = drawn()
    # The same candidates: a list has as many people in every world.
    after = [[*rng.permutation(8)[: k - row.count(-1)], *[-1] * row.count(-1)] for row in before]
    expected = [
        0.0 if not set(a) - {-1} else 1 - len((set(a) & set(b)) - {-1}) / len(set(a) - {-1})
        for a, b in zip(before, after, strict=True)
    ]
    found = changes(torch.tensor(before), torch.tensor(after))
    assert found.tolist() == pytest.approx(expected)


def test_places_and_candidates_by_group(split: LinkSplit) -> None:
    graph = split.input
    scorer = adapt_links(alike).scorer(graph, "factual")
    people = torch.arange(0, len(graph.x), 7)
    rows = top_lists(scorer, people, 6, exclude=graph)
    plain, weighted = listed_by_group(rows, graph.sens.numpy())
    could = candidates_by_group(graph, people)
    linked = {tuple(edge) for edge in graph.edge_index.T.tolist()}
    for place, one in enumerate(people.tolist()):
        listed = [row for row in rows[place].tolist() if row >= 0]
        others = [two for two in range(len(graph.x)) if two != one and (one, two) not in linked]
        for group in range(3):
            there = [rank for rank, row in enumerate(listed, 1) if graph.sens[row] == group]
            assert plain[place, group] == len(there)
            weights = sum(1 / math.log2(1 + rank) for rank in there)
            assert weighted[place, group] == pytest.approx(weights)
            assert could[place, group] == sum(int(graph.sens[two] == group) for two in others)


def test_exposure_adds_up(audit: LinkAudit) -> None:
    rows = lists_of(audit).exposure
    worlds = {row.intervention for row in rows}
    assert worlds == {"factual", "group 0", "group 1", "group 2", "mixed"}

    def of(world: str) -> list[Exposure]:
        return [row for row in rows if row.intervention == world]

    for world in worlds:
        for part in ("candidates", "share", "weighted"):
            assert sum(getattr(row, part) for row in of(world)) == pytest.approx(1)
        for row in of(world):
            assert row.relative == pytest.approx(row.share / row.candidates)
            assert row.relative_weighted == pytest.approx(row.weighted / row.candidates)
            assert row.interval.low <= row.relative <= row.interval.high
    relative = [row.relative for row in of("factual")]
    assert audit.metrics["exposure_gap"] == pytest.approx(max(relative) - min(relative))


def test_lists_of_the_page_say_who_entered_and_who_left(audit: LinkAudit, split: LinkSplit) -> None:
    people = lists_of(audit).people
    assert len(people) == 12
    assert any(world.entered for one in people for world in one.worlds)
    groups = dict(zip(split.graph.node_id.tolist(), split.graph.sens.tolist(), strict=True))
    for one in people:
        before = [listed.person for listed in one.factual]
        assert all(listed.group == groups[int(listed.person)] for listed in one.factual)
        for world in one.worlds:
            after = [listed.person for listed in world.listed]
            assert list(world.entered) == [name for name in after if name not in before]
            assert [left.person for left in world.left] == [
                name for name in before if name not in after
            ]
            scores = [listed.score for listed in world.listed]
            assert scores == sorted(scores, reverse=True)
            # Whoever left scores no more than the last who stands there.
            assert all(left.score <= scores[-1] for left in world.left)


def test_those_who_change_most_are_shown_first(audit: LinkAudit) -> None:
    shown = [one.change for one in lists_of(audit).people[:6]]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] >= max(one.change for one in lists_of(audit).people)


def test_scores_are_those_of_the_model(audit: LinkAudit, split: LinkSplit) -> None:
    """On the factual graph; `alike` reads features alone."""
    row_of = {int(node): row for row, node in enumerate(split.graph.node_id.tolist())}

    def check(one: PersonLists) -> None:
        ends = [[row_of[int(one.person)]] * 5, [row_of[int(x.person)] for x in one.factual]]
        expected = alike(split.input, torch.tensor(ends))
        assert [x.score for x in one.factual] == pytest.approx(expected.tolist())

    for one in lists_of(audit).people:
        check(one)


def test_a_list_holds_nobody_whom_one_is_linked_with(split: LinkSplit) -> None:
    found = audit_links(degrees, split, draws=1, self_pairs=2, list_people=10, k=8)
    ids = split.graph.node_id
    linked = {tuple(edge) for edge in ids[split.input.edge_index].T.tolist()}
    for one in lists_of(found).people:
        for listed in [*one.factual, *(x for world in one.worlds for x in world.listed)]:
            assert (one.person, listed.person) not in linked
            assert one.person != listed.person

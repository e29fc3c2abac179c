from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing.changes import Both, Changes, changes
from fairgear.auditing.comparison import Comparison, compare_people
from fairgear.auditing.records import from_json
from fairgear.auditing.result import Audit
from fairgear.files import json_ready
from tests.auditing.models import CopiesSens, Features, measure, small_graph
from tests.auditing.test_comparison import table

N = 900


def flipping(seed: int, **columns: Any) -> pd.DataFrame:
    """A model whose *self* was asked of most people, in one world each."""
    rng = np.random.default_rng(100 + seed)
    flips = np.where(rng.random(N) < 0.8, rng.integers(0, 2, N), np.nan)
    return table(seed, n=N).assign(flip_strict_self=flips, **columns)


def counted(both: Both) -> dict[tuple[bool, bool], int]:
    found = {
        (True, True): both.both,
        (True, False): both.first,
        (False, True): both.second,
        (False, False): both.neither,
    }
    return {key: count for key, count in found.items() if count}


def test_groups_are_counted_person_by_person() -> None:
    first, second = flipping(1), flipping(2)
    found = changes(first, second, seed=0)
    assert [row.group for row in found.groups] == [0, 1]
    for row in found.groups:
        answers: Counter[tuple[bool, bool]] = Counter()
        flips: Counter[tuple[bool, bool]] = Counter()
        for (_, one), (_, other) in zip(first.iterrows(), second.iterrows(), strict=True):
            if one["sens"] != row.group:
                continue
            answers[one["label"] == 1, other["label"] == 1] += 1
            shares = one["flip_strict_self"], other["flip_strict_self"]
            if not any(np.isnan(shares)):
                flips[shares[0] == 1, shares[1] == 1] += 1
        assert counted(row.answers) == answers
        assert counted(row.flips) == flips
        assert row.answers.people == (first["sens"] == row.group).sum()
    assert sum(row.flips.people for row in found.groups) < N


def test_the_other_way_round_the_two_change_places() -> None:
    first, second = flipping(1), flipping(2)
    there, back = changes(first, second, seed=0), changes(second, first, seed=0)
    for one, other in zip(there.groups, back.groups, strict=True):
        for part in ("answers", "flips"):
            a, b = getattr(one, part), getattr(other, part)
            assert (a.both, a.first, a.second, a.neither) == (b.both, b.second, b.first, b.neither)
    assert [p.node_id for p in there.people] == [p.node_id for p in back.people]
    assert [(p.first, p.second) for p in there.points] == [(p.second, p.first) for p in back.points]


def test_the_same_model_changes_nothing_for_anybody() -> None:
    people = flipping(1)
    found = changes(people, people.copy(), seed=0)
    assert found.people == ()
    assert all(row.answers.first == row.answers.second == 0 for row in found.groups)
    assert all(row.flips.first == row.flips.second == 0 for row in found.groups)


@pytest.mark.parametrize("probabilities", [True, False])
def test_the_people_who_differ_most_are_those_of_a_sorted_list(probabilities: bool) -> None:
    first, second = flipping(1), flipping(2)
    if probabilities:
        for people in (first, second):
            people["score"] = 1 / (1 + np.exp(-people["score"]))
    found = changes(first, second, seed=0)
    assert found.by_rank is not probabilities
    scores = [
        people["score"] if probabilities else people["score"].rank() / N
        for people in (first, second)
    ]
    rows = [
        (bool(a == b), -abs(x - y), number)
        for number, (a, b, x, y) in enumerate(
            zip(first["label"], second["label"], *scores, strict=True)
        )
    ]
    expected = [int(first["node_id"][number]) for _, _, number in sorted(rows)[:20]]
    assert [person.node_id for person in found.people] == expected
    for person in found.people:
        at = int(person.node_id) // 3
        assert person.group == first["sens"][at]
        assert person.y == first["y"][at]
        assert (person.first_score, person.second_score) == (
            first["score"][at],
            second["score"][at],
        )
        assert (person.first_label, person.second_label) == (
            first["label"][at],
            second["label"][at],
        )
        assert person.apart == pytest.approx(abs(scores[0][at] - scores[1][at]))


def test_the_sample_of_scores_is_of_people_and_the_same_every_time() -> None:
    first, second = flipping(1), flipping(2)
    found = changes(first, second, seed=0)
    every = set(zip(first["score"], second["score"], first["label"], second["label"], strict=True))
    points = [(p.first, p.second, p.first_label, p.second_label) for p in found.points]
    assert len(points) == len(set(points)) == 400
    assert set(points) <= every
    assert changes(first, second, seed=0).points == found.points
    assert changes(first, second, seed=1).points != found.points
    few = changes(first[:300], second[:300], seed=0)
    assert [p.first for p in few.points] == first["score"][:300].tolist()


def test_people_have_their_names_and_those_unknown_a_group_of_their_own() -> None:
    known = np.arange(N) % 5 > 0
    shared = {"sens_known": known, "node_name": [f"P{number}" for number in range(N)]}
    first, second = flipping(1, **shared), flipping(2, **shared)
    found = changes(first, second, seed=0)
    assert [row.group for row in found.groups] == [0, 1, -1]
    assert found.groups[-1].answers.people == N // 5
    assert all(str(person.node_id).startswith("P") for person in found.people)
    # Means over completions: most of them count.
    first["flip_strict_self"], second["flip_strict_self"] = 0.6, 0.4
    for row in changes(first, second, seed=0).groups:
        assert row.flips.first == row.flips.people


def test_ranges_of_a_number_are_groups() -> None:
    band = np.arange(N) % 4
    first, second = (flipping(seed, band=band, sens=band * 1.5) for seed in (1, 2))
    found = changes(first, second, seed=0)
    assert [row.group for row in found.groups] == [0, 1, 2, 3]
    assert [row.answers.people for row in found.groups] == [N / 4] * 4


def test_a_comparison_holds_them_and_comes_back_from_json() -> None:
    found = compare_people(flipping(1), flipping(2))
    assert isinstance(found.changes, Changes)
    assert from_json(Comparison, json_ready(found)) == found
    earlier = {key: value for key, value in json_ready(found).items() if key != "changes"}
    assert from_json(Comparison, earlier).changes is None


def test_an_audit_holds_the_figures_of_the_other_model() -> None:
    graph = small_graph(120)
    first, second = measure(CopiesSens(), graph), measure(Features(), graph)
    both = first.compared(second)
    assert json_ready(both.comparison) == json_ready(first.compare(second))
    assert both.against is not None
    assert both.against.metrics == second.metrics
    assert (len(both.against.people), both.against.affected) == (0, ())
    again = Audit.from_dict(both.to_dict(), both.people)
    assert again.to_dict() == both.to_dict()
    assert again.against is not None
    assert again.against.model == second.model

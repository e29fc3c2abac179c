"""The neighbours that matter, by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, adapt, audit
from fairgear.auditing.affected import (
    EXAMINED,
    KEPT,
    Affected,
    Neighbor,
    most_affected,
    neighbors_that_matter,
)
from fairgear.auditing.records import from_json
from fairgear.causal import FittedCausalModel, flipped, for_graph
from fairgear.files import json_ready
from fairgear.graph import undirected_edges
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    LastDigit,
    NeighborSens,
    small_graph,
)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph(150)


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, draws=1)


def around(graph: SensitiveGraph, person: int) -> list[int]:
    return [b for a, b in graph.edge_index.T.tolist() if a == person]


def asked(graph: SensitiveGraph, person: int) -> list[int]:
    """Whom one asks about: the neighbours with the fewest links."""
    links = {other: len(around(graph, other)) for other in around(graph, person)}
    return sorted(links, key=lambda other: (links[other], int(graph.node_id[other])))[:EXAMINED]


def expected(graph: SensitiveGraph, model: FakeModel, person: int) -> list[Neighbor]:
    """Every neighbour flipped by itself, everything computed anew."""
    truth = for_graph(graph)
    before = float(model.score(graph)[person])
    found = []
    for other in asked(graph, person):
        after = float(model.score(truth.counterfactual(graph, flipped(graph, other)))[person])
        flips = (after > 0.5) != (before > 0.5)
        found.append(
            Neighbor(int(graph.node_id[other]), int(graph.sens[other]), after - before, flips)
        )
    moved = [one for one in found if abs(one.change) > 1e-6]
    return sorted(moved, key=lambda one: (-round(abs(one.change), 6), one.node_id))[:KEPT]


def found_for(worlds: Worlds, model: FakeModel, rows: Tensor) -> Any:
    adapter = adapt(model)
    factual = adapter.predict(worlds.factual, rows)
    return neighbors_that_matter(adapter, worlds, rows, factual, np.arange(len(rows)))


@pytest.mark.parametrize("model", [Everything(), NeighborSens()])
def test_by_brute_force(graph: SensitiveGraph, worlds: Worlds, model: FakeModel) -> None:
    rows = torch.tensor([3, 20, 77, 140, 9])
    found = found_for(worlds, model, rows)
    assert list(found) == list(range(len(rows)))
    for position, person in enumerate(rows.tolist()):
        assert list(found[position]) == expected(graph, model, person)
    assert any(found.values())


def test_at_most_so_many_are_asked_and_kept(worlds: Worlds) -> None:
    """A star whose centre reads everyone: of many neighbours few are asked, and fewer are kept."""
    graph = worlds.graph
    leaves = torch.arange(1, 17)
    spokes = torch.stack([torch.zeros_like(leaves), leaves])
    # The first three have a link more, and so come last.
    more = torch.tensor([[1, 2, 3], [31, 32, 33]])
    star = graph.replace(
        edge_index=undirected_edges(torch.cat([spokes, more], dim=1), len(graph.x)), mechanism=None
    )
    fitted = FittedCausalModel(edges="fixed").fit(star)
    made: list[int] = []

    class Asked(Worlds):
        def alone(self, nodes: Tensor) -> Any:
            made.extend(nodes.tolist())
            return super().alone(nodes)

    (found,) = found_for(Asked(star, fitted), NeighborSens(), torch.tensor([0])).values()
    assert sorted(set(made)) == list(range(4, 4 + EXAMINED))
    # All matter alike: by their ids.
    assert [one.node_id for one in found] == [4, 5, 6]
    assert len(found) == KEPT
    for one in found:
        assert abs(one.change) == 1 / 16
        assert (one.change < 0) == (one.sens == 1)


def test_nobody_matters_to_a_model_without_edges(worlds: Worlds) -> None:
    rows = torch.arange(20)
    for model in (Constant(), CopiesSens(), Features()):
        assert not any(found_for(worlds, model, rows).values())


def test_somebody_without_neighbours(worlds: Worlds) -> None:
    graph = worlds.graph
    degree = torch.bincount(graph.edge_index[0], minlength=len(graph.x))
    rows = (degree == 0).nonzero()[:1, 0]
    assert len(rows) == 1
    assert found_for(worlds, Everything(), rows) == {0: ()}


def test_who_is_affected_most() -> None:
    flips = np.array([0.0, 0.5, 0.5, 0.0, 1.0, 0.0])
    moves = np.array([0.3, 0.1, -0.2, -0.4, 0.0, 0.0])
    assert most_affected(flips, moves, 10).tolist() == [4, 2, 1, 3, 0]
    assert most_affected(flips, moves, 2).tolist() == [4, 2]
    assert most_affected(np.zeros(3), np.zeros(3), 10).tolist() == []


def test_rounding_is_no_neighbour_that_matters(worlds: Worlds) -> None:
    assert not any(found_for(worlds, LastDigit(), torch.arange(20)).values())


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return audit(Everything(), worlds, nodes=torch.arange(40), self_people=8)


def test_the_affected_are_those_whose_answer_moves_most(everything: Audit) -> None:
    people = everything.people
    flips = people["flip_strict_average_over_rates"]
    moves = people["score_strict_average_over_rates"] - people["score"]
    order = sorted(range(len(people)), key=lambda i: (-flips[i], -abs(moves[i])))[:10]
    assert [one.node_id for one in everything.affected] == people["node_id"].iloc[order].tolist()
    for one, at in zip(everything.affected, order, strict=True):
        row = people.iloc[at]
        assert (one.sens, one.y, one.label) == (row["sens"], row["y"], row["label"])
        assert one.score == row["score"]
        assert one.flip_share == flips[at]
        assert one.score_change == pytest.approx(moves[at])
        assert row["neighbors_that_matter"] == ", ".join(
            f"{near.node_id} ({near.change:+.4f})" for near in one.neighbors
        )
    rest = people.drop(index=order)
    assert (rest["neighbors_that_matter"] == "").all()


def test_each_intervention_that_somebody_took_part_in(everything: Audit) -> None:
    people = everything.people.set_index("node_id")
    for one in everything.affected:
        row = people.loc[one.node_id]
        for name in ("rate 0", "rate 0.5", "rate 1", "self", "neighbours", "both"):
            key = f"strict_{name}".replace(" ", "_")
            if np.isnan(row[f"flip_{key}"]):
                assert name not in one.interventions
            else:
                found = one.interventions[name]
                assert found.score == row[f"score_{key}"]
                assert found.flip == row[f"flip_{key}"]
    assert sum("self" in one.interventions for one in everything.affected) < 10


def test_to_a_dictionary_and_back(everything: Audit) -> None:
    for one in everything.affected:
        assert from_json(Affected, json_ready(one)) == one

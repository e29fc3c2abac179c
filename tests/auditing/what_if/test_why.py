"""Why: the smallest set of moves, against all sets of moves of the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.what_if import ExplainedPerson, Part, WhatIf, Why
from fairgear.auditing.what_if.features import Features
from fairgear.auditing.what_if.why import Moves, explain
from fairgear.causal import CausalModel, LocalWorld, as_assignment
from fairgear.graph import Target
from fairgear.metrics.disagreement import Disagreement
from tests.auditing.what_if.scene import found, graph_of, law, model_of, result, row_of, state
from tests.graphs import linked_graph


def moved(graph: SensitiveGraph, world: SensitiveGraph, row: int, parts: Sequence[Part]) -> Any:
    """The factual graph with these parts of a world, edge by edge and column by column."""
    names = {part.name for part in parts if part.kind == "feature"}
    attribute = graph.sensitive_attributes[0].name
    x, sens = graph.x.clone(), graph.sens.clone()
    for at, name in enumerate(graph.feature_names):
        if (attribute if at == graph.sens_column else name) in names:
            x[row, at] = world.x[row, at]
    if attribute in names:
        sens[row] = world.sens[row]
    others = any(part.kind == "around" for part in parts)
    if others:
        away = torch.arange(len(x)) != row
        x[away], sens[away] = world.x[away], world.sens[away]
    before, after = (set(map(tuple, of.edge_index.T.tolist())) for of in (graph, world))
    known = set(before)
    for kind, pairs in (("gone", before - after), ("new", after - before)):
        ends = {part.name for part in parts if part.kind == kind}
        for a, b in pairs:
            own = row in (a, b)
            other = str(int(graph.node_id[b if a == row else a]))
            if (own and other in ends) or (not own and others):
                known ^= {(a, b)}
    edges = torch.tensor(sorted(known)).T.reshape(2, -1)
    return graph.replace(x=x, sens=sens, edge_index=edges, mechanism=None)


def explained(kind: str) -> list[tuple[ExplainedPerson, Why]]:
    return [(one, one.why) for one in found(kind).people if one.why is not None]


@cache
def self_world(kind: str, person: int, own: int) -> SensitiveGraph:
    graph = graph_of(kind)
    sens = graph.sens.clone()
    sens[int((graph.node_id == person).nonzero()[0])] = own
    return law(kind).counterfactual(graph, sens)


@pytest.mark.parametrize("kind", ["table", "fitted", "groups"])
def test_the_parts_change_the_answer_and_no_fewer_do(kind: str) -> None:
    graph, model = graph_of(kind), model_of(kind)
    threshold = result(kind).model.threshold
    checked = 0
    for person, why in explained(kind):
        row, factual = row_of(graph, person), state(person)
        world = self_world(kind, int(person.node_id), why.own)
        every = everything(graph, world, row)
        assert len(every) == why.moved
        assert {(part.kind, part.name) for part in why.parts} <= set(every)

        def score(parts: Sequence[Part], row: int = row, world: Any = world) -> float:
            return float(model.score(moved(graph, world, row, parts))[row])

        assert why.score == pytest.approx(score(why.parts), rel=6e-6)
        assert (why.score > threshold) != factual.label
        whole = score([Part(*one) for one in every])
        assert state(person, own=why.own).score == pytest.approx(whole, rel=6e-6)
        if why.exact and len(every) ** (len(why.parts) - 1) < 3000:
            for size in range(len(why.parts)):
                for fewer in combinations(every, size):
                    assert (score([Part(*one) for one in fewer]) > threshold) == factual.label
            checked += 1
    assert checked > 0


def everything(graph: SensitiveGraph, world: SensitiveGraph, row: int) -> list[tuple[str, str]]:
    """All that moves, as kinds and names."""
    found = []
    for at, name in enumerate(graph.feature_names):
        if at == graph.sens_column:
            found.append(("feature", graph.sensitive_attributes[0].name))
        elif graph.x[row, at] != world.x[row, at]:
            found.append(("feature", name))
    before, after = (set(map(tuple, of.edge_index.T.tolist())) for of in (graph, world))
    around = False
    for kind, pairs in (("gone", before - after), ("new", after - before)):
        ends = {b for a, b in pairs if a == row}
        found += [(kind, str(int(graph.node_id[other]))) for other in ends]
        around |= any(row not in pair for pair in pairs)
    return [*found, *([("around", "")] if around else [])]


@pytest.mark.parametrize("kind", ["table", "fitted", "groups", "number", "directed", "weighted"])
def test_whoever_is_explained_has_another_answer(kind: str) -> None:
    what_if = found(kind)
    for person in what_if.people:
        first = state(person)
        alone = [one for one in person.states if not (one.others or one.model or one.dose)]
        other = [one.own for one in alone if one.label != first.label]
        assert (person.why is not None) == bool(other)
        if person.why is not None:
            assert person.why.own in other
            known = {part.kind for part in person.why.parts}
            assert known <= {"feature", "gone", "new", "around"}
    assert any(person.why for person in what_if.people)


def nearest(what_if: WhatIf, person: ExplainedPerson) -> int:
    own = person.members[0].sens
    other = [
        one.own
        for one in person.states
        if not (one.others or one.model or one.dose) and one.label != state(person).label
    ]
    return min(other, key=lambda place: abs(float(what_if.own[place]) - own))


def test_of_a_number_the_nearest_value_is_explained() -> None:
    what_if = found("number")
    for person in what_if.people:
        if person.why is not None:
            assert person.why.own == nearest(what_if, person)


class Anew(CausalModel):
    """Links of whoever changes have half their weight."""

    name = "anew"

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        values = as_assignment(graph, sens)
        changed = values != graph.sens
        x = graph.x.clone()
        x[:, 1] = values.to(x.dtype)
        x[changed, 0] += 1
        weight = graph.edge_weight
        assert weight is not None
        touched = changed[graph.edge_index].any(dim=0)
        return graph.replace(x=x, sens=values, edge_weight=torch.where(touched, weight / 2, weight))


@pytest.mark.parametrize("directed", [False, True])
def test_weights_of_links_are_parts(directed: bool) -> None:
    graph = linked_graph(40, 120, directed=directed, weighted=True)
    row = 7
    world = Anew().fit(graph).local(graph, torch.tensor([row]), 1 - graph.sens[row : row + 1])
    moves = Moves(Features(graph), row, world)
    parts = [move.part for move in moves.each]
    assert [one.kind for one in parts[:2]] == ["feature", "feature"]
    own = int(graph.sens[row])
    assert [parts[0].before, parts[0].after] == [f"group {own}", f"group {1 - own}"]
    links = parts[2:]
    assert {one.kind for one in links} == {"weight"}
    ends = graph.edge_index[:, (graph.edge_index == row).any(dim=0)]
    others = {int(graph.node_id[other]) for other in ends.flatten().tolist() if other != row}
    assert sorted(int(one.name) for one in links) == sorted(others)
    for one in links:
        before = [float(word) for word in one.before.split(", ")]
        after = [float(word) for word in one.after.split(", ")]
        assert after == pytest.approx([value / 2 for value in before], rel=1e-5)
    # All moves make the world, and none make the factual graph.
    whole = moves.world(moves.each).graph()
    made = world.graph()
    assert torch.equal(whole.x, made.x)
    assert sorted(arcs(whole)) == sorted(arcs(made))
    still = moves.world([]).graph()
    assert torch.equal(still.x, graph.x)
    assert arcs(still) == arcs(graph)


def arcs(graph: SensitiveGraph) -> list[tuple[int, ...]]:
    assert graph.edge_weight is not None
    weights = graph.edge_weight.tolist()
    return [(*pair, w) for pair, w in zip(graph.edge_index.T.tolist(), weights, strict=True)]


@pytest.mark.parametrize("target", ["classes", "number"])
def test_answers_that_are_classes_or_numbers(target: str) -> None:
    """One of four features decides; the search must find it."""
    if target == "classes":
        how = Disagreement(Target("multiclass", ("a", "b", "c")))
    else:
        how = Disagreement(Target("regression", sd=1.0))
    graph, row = graph_of("fitted"), 11
    x = graph.x[row : row + 1] * torch.tensor([[-3.0, 1.0, 2.0, -2.0]])
    x[0, 1] = 1 - x[0, 1]
    gone = torch.tensor([[row], [int(graph.edge_index[1, graph.edge_index[0] == row][0])]])
    world = LocalWorld(graph, torch.tensor([row]), 1 - graph.sens[row : row + 1], x, removed=gone)

    def said(one: LocalWorld) -> Predictions:
        x = one.graph().x[row].double()
        if target == "number":
            return Predictions(x[:1].numpy(), x[:1].numpy(), how)
        scores = torch.softmax(torch.stack([x[0] * 9, -x[0] * 9, torch.tensor(-3.0)]), dim=0)
        return Predictions(scores[None].numpy(), scores.argmax(dim=0)[None].numpy(), how)

    moves = Moves(Features(graph), row, world)
    before, after = said(LocalWorld.unchanged(graph)), said(world)
    assert how.changes(before.labels, after.labels)[0]
    why = explain(moves, lambda some: [said(one) for one in some], before, after)
    assert why is not None
    assert [part.name for part in why.parts] == [graph.feature_names[0]]
    assert why.exact
    assert why.score == pytest.approx(float(said(world).of_answer(before)[0]))

"""The explorer against worlds of the whole graph, built without it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.auditing.worlds import judged_by
from fairgear.causal import (
    Columns,
    Dosed,
    FittedCausalModel,
    SyntheticSettings,
    feature_model,
    features_only,
    sample,
    structure_with,
)
from fairgear.causal.base import FeatureCausalModel
from fairgear.graph import split
from fairgear.graph.tables.original import OriginalColumns
from tests.auditing.what_if.scene import (
    KINDS,
    Reads,
    explored,
    found,
    graph_of,
    law,
    model_of,
    result,
    row_of,
    state,
    what_if_of,
)


def assignment(kind: str, what_if: WhatIf, person: ExplainedPerson, one: State) -> Tensor:
    """Everybody's value, from the words of the controls alone."""
    graph = graph_of(kind)
    row = row_of(graph, person)
    around = [a for a, b in graph.edge_index.T.tolist() if b == row]
    sens = graph.sens.clone()
    words = what_if.others[one.others]

    def value(word: str) -> float:
        if kind == "number":
            # Words have six digits.
            known: list[float] = graph.sens.tolist()
            return min(known, key=lambda value: abs(value - float(word)))
        names = ("here", "there", "elsewhere") if kind == "groups" else ("group 0", "group 1")
        return names.index(word)

    if words.startswith("all "):
        sens[around] = torch.tensor(value(words[4:])).to(sens)
    elif words.startswith("half "):
        # Who is in which half is a matter of hashes: read from the record, and counted below.
        shown = {
            m.node_id: v
            for m, v in zip(person.members, person.attributes[one.attributes], strict=True)
        }
        assert person.hidden == 0
        for other in around:
            sens[other] = int(shown[int(graph.node_id[other])])
    else:
        assert words == "as they are"
    if one.own >= 0:
        sens[row] = torch.tensor(value(what_if.own[one.own])).to(sens)
    return sens


@cache
def judge(kind: str, name: str, dose: float) -> Callable[[Tensor], SensitiveGraph]:
    """A causal model of the family, fitted apart from the audit's."""
    graph, own = graph_of(kind), law(kind)
    if not isinstance(own, FeatureCausalModel):
        return partial(other_features, kind, name, dose)
    if name != "own":
        fitted = feature_model(name).fit(*own.table(graph), Columns.of(graph), _learners(graph))
        own = own.with_features(fitted)
    if dose != 1:
        own = own.with_features(Dosed(own.feature_model, dose))
    return partial(own.counterfactual, graph)


def other_features(kind: str, name: str, dose: float, sens: Tensor) -> SensitiveGraph:
    """The worlds of equations, with a share of their features or those of another model."""
    graph, world = graph_of(kind), law(kind).counterfactual(graph_of(kind), sens)
    order = graph.canonical.rows
    x = graph.x + dose * (world.x - graph.x)
    if name != "own":
        table, before = graph.x[order].double().numpy(), graph.sens[order].numpy()
        fitted = feature_model(name).fit(table, before, Columns.of(graph), _learners(graph))
        moved = fitted.moved(table, before, sens[order].numpy(), graph.node_id[order], seed=0)
        x = torch.empty_like(graph.x)
        x[order] = torch.from_numpy(moved).to(x)
    return world if name == "own" and dose == 1 else structure_with(world, x)


def counterfactual(kind: str, what_if: WhatIf, one: State, sens: Tensor) -> SensitiveGraph:
    """The whole graph of a state."""
    graph, name = graph_of(kind), what_if.models[one.model]
    base = name.removesuffix(", links fixed")
    world = judge(kind, base, what_if.doses[one.dose])(sens)
    return features_only(graph, world) if name != base else world


def _learners(graph: SensitiveGraph) -> np.ndarray | None:
    people = judged_by(graph)
    return None if people is None else people[graph.canonical.rows].numpy()


def worlds_of(kind: str) -> list[tuple[ExplainedPerson, State, SensitiveGraph]]:
    what_if = found(kind)
    made = []
    # Two of the most affected, and one of the others.
    for person in what_if.people[:2] + what_if.people[-1:]:
        for one in person.states:
            if what_if.others[one.others].startswith("half") and person.hidden:
                continue
            sens = assignment(kind, what_if, person, one)
            made.append((person, one, counterfactual(kind, what_if, one, sens)))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_is_that_of_the_whole_graph(kind: str) -> None:
    """Score, answer, features, links and attributes."""
    graph, what_if, model = graph_of(kind), found(kind), model_of(kind)
    threshold = result(kind).model.threshold
    columns = OriginalColumns.of(graph)
    for person, one, world in worlds_of(kind):
        row = row_of(graph, person)
        score = float(model.score(world)[row])
        assert one.score == pytest.approx(score, rel=6e-6)
        assert one.label == int(score > threshold) == int(one.score > threshold)
        values = columns.values(world.x[row : row + 1])[0]
        assert person.features[one.features] == pytest.approx(values, rel=1e-5, abs=1e-5)
        rows = [int((graph.node_id == int(m.node_id)).nonzero()[0]) for m in person.members]
        assert person.attributes[one.attributes] == pytest.approx(world.sens[rows].tolist())
        links = person.links[one.links]
        before, after = (joined(of, rows) for of in (graph, world))
        assert set(person.edges) == before
        assert set(links.gone) == before - after
        assert set(links.new) == after - before
        assert rows[0] == row
    assert len(what_if.people) == 8


def joined(graph: SensitiveGraph, rows: list[int]) -> set[tuple[int, ...]]:
    place = {row: at for at, row in enumerate(rows)}
    pairs = [(place.get(a, -1), place.get(b, -1)) for a, b in graph.edge_index.T.tolist()]
    known = [pair for pair in pairs if min(pair) >= 0]
    return set(known) if graph.directed else {(a, b) for a, b in known if a < b}


@pytest.mark.parametrize("kind", KINDS)
def test_all_controls_have_states(kind: str) -> None:
    """Everybody who has neighbours has a state at every place of every control."""
    what_if, graph = found(kind), graph_of(kind)
    assert what_if.models[0] == "own"
    assert "gaussian" in what_if.models
    assert what_if.doses == (1.0, 0.75, 0.5, 0.25, 0.0)
    for person in what_if.people:
        first = person.states[0]
        assert (first.own, first.others, first.model, first.dose) == (-1, 0, 0, 0)
        places = [(one.own, one.others, one.model, one.dose) for one in person.states]
        assert len(set(places)) == len(places)
        alone = person.members[0].links == 0 if not graph.directed else False
        if alone:
            continue
        for control in ("others", "model", "dose"):
            known = {getattr(one, control) for one in person.states}
            names = {"others": what_if.others, "model": what_if.models, "dose": what_if.doses}
            if control != "others" or len(known) > 1:
                assert known == set(range(len(names[control])))
    if graph.two_groups:
        assert len(person.states) == 1 + (2 * 4 - 1) * len(what_if.models) + 4


@pytest.mark.parametrize("kind", KINDS)
def test_as_it_is_and_own_value_are_those_of_the_audit(kind: str) -> None:
    audit, graph = result(kind), graph_of(kind)
    people = audit.people.set_index("node_id")
    for person in found(kind).people:
        known, first = people.loc[person.node_id], state(person)
        assert first.score == pytest.approx(known["score"], rel=6e-6)
        assert first.label == known["label"]
        assert person.y == known["y"]
        assert person.members[0].sens == pytest.approx(known["sens"])
        if graph.two_groups:
            other = state(person, own=1 - int(person.members[0].sens))
            assert other.score == pytest.approx(known["score_strict_self"], rel=6e-6)
            assert (other.label != first.label) == known["flip_strict_self"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_most_affected_and_others(kind: str) -> None:
    table = result(kind).people
    flips, moved = table["flip_strict_average_over_rates"], table["score"]
    size = (table["score_strict_average_over_rates"] - moved).abs()
    order = table.assign(flips=flips, size=size).sort_values(
        ["flips", "size"], ascending=False, kind="stable"
    )
    people = found(kind).people
    affected = [one.node_id for one in people if one.chosen == "affected"]
    assert affected == order["node_id"].tolist()[:4]
    drawn = [one.node_id for one in people if one.chosen == "random"]
    assert len(set(drawn) - set(affected)) == 4


def test_members_are_who_is_linked_with_the_own_value_alone() -> None:
    graph, what_if = graph_of("table"), found("table")
    for person in what_if.people[:4]:
        row, linked, first = row_of(graph, person), set[int](), set[int]()
        now = set(graph.edge_index[0, graph.edge_index[1] == row].tolist())
        for one in person.states:
            if not one.others:
                sens = assignment("table", what_if, person, one)
                world = counterfactual("table", what_if, one, sens)
                there = set(world.edge_index[0, world.edge_index[1] == row].tolist())
                linked |= there
                first |= now ^ there if one.model == one.dose == 0 else set()
        degree = torch.bincount(graph.edge_index[0], minlength=len(graph.x)).tolist()

        def rank(other: int, now: set[int] = now, first: set[int] = first) -> tuple[bool, ...]:
            return other not in now | first, other not in first

        order = sorted(linked, key=lambda at: (rank(at), degree[at], int(graph.node_id[at])))
        ids = graph.node_id[[row, *order]].tolist()
        assert [member.node_id for member in person.members] == ids[:24]
        assert person.hidden == max(0, len(ids) - 24)
        assert [one.links for one in person.members] == [degree[at] for at in [row, *order][:24]]


def test_half_of_the_neighbours() -> None:
    graph, what_if = graph_of("fitted"), found("fitted")
    at = what_if.others.index("half group 0, half group 1")
    seen = 0
    for person in what_if.people:
        row = row_of(graph, person)
        near = set(graph.node_id[graph.edge_index[0, graph.edge_index[1] == row]].tolist())
        shown = [at for at, member in enumerate(person.members) if member.node_id in near]
        if len(shown) == len(near) and near:
            values = person.attributes[state(person, others=at).attributes]
            assert sum(values[place] for place in shown) == math.ceil(len(near) / 2)
            seen += 1
    assert seen > 3


def test_the_same_for_rows_in_another_order() -> None:
    graph = graph_of("fitted")
    order = torch.from_numpy(np.random.default_rng(3).permutation(len(graph.x)))
    mixed = graph.permute(order)
    own = FittedCausalModel("shift", "distance", gate=False).fit(mixed, judged_by(mixed))
    other = explored(Reads(), Worlds(mixed, own, draws=1))
    assert saved(other) == saved(result("fitted"))


def saved(audit: Audit) -> str:
    return json.dumps(audit.to_dict()["what_if"])


def test_it_is_saved_and_loaded_whole(tmp_path: Path) -> None:
    for kind in ("table", "number"):
        result(kind).save(tmp_path)
        again = Audit.load(tmp_path)
        assert saved(again) == saved(result(kind))
        assert what_if_of(again).people == found(kind).people
        text = (tmp_path / "audit.json").read_text()
        assert json.loads(text) == result(kind).to_dict()


def test_several_classes_and_numbers_as_labels() -> None:
    for settings in ({"classes": 3}, {"number": True}):
        graph = split(sample(SyntheticSettings(n=200, d_z=8, d=4, threshold=0.3, **settings)))
        model = fg.methods.METHODS["graphsage"](steps=20).fit(graph)
        audit = fg.audit(model, graph, draws=1, what_if_people=4, affected_people=0, probes=False)
        people, worlds = audit.people.set_index("node_id"), Worlds(graph, draws=1)
        what_if = what_if_of(audit)
        for person in what_if.people:
            row, known = row_of(graph, person), people.loc[person.node_id]
            assert state(person).score == pytest.approx(known["score"], rel=1e-4)
            other = state(person, own=1 - int(graph.sens[row]))
            assert other.score == pytest.approx(known["score_strict_self"], rel=1e-4)
            world = next(worlds.alone(torch.tensor([row]))).graph
            said = model.predict(world, nodes=torch.tensor([row]))[0]
            assert other.label == pytest.approx(float(said), rel=1e-4)
        assert what_if.models[1:]
        assert what_if.others[1:]


def test_hidden_words_and_levels() -> None:
    """A table's own words and units."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n),
            "job": rng.choice(["clerk", "cook", "judge"], n),
            "income": rng.integers(10, 90, n) * 1000,
            "approved": rng.choice(["no", "yes"], n),
        }
    )
    graph = fg.graph.split(
        fg.graph.from_tables(table, label="approved", sensitive="sex", similarity=0.7)
    )
    audit = explored(Reads(), graph, people=10)
    what_if = what_if_of(audit)
    assert what_if.own == ("female", "male")
    assert what_if.others[1:] == ("all female", "all male", "half female, half male")
    job, income = what_if.columns
    assert (job.name, job.levels) == ("job", ("clerk", "cook", "judge"))
    assert (income.name, income.low, income.high) == (
        "income",
        table["income"].min(),
        table["income"].max(),
    )
    for person in what_if.people:
        row = table.iloc[int(person.node_id)]
        level, money = person.features[0]
        assert (job.levels[int(level)], money) == (row["job"], row["income"])

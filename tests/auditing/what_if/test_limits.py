"""What is shown where not every world can be computed, or is not asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import FolderAdapter, Worlds
from fairgear.causal import FittedCausalModel
from fairgear.graph.unknown import Unknown
from tests.auditing.adapters.test_folder import NODES, exported
from tests.auditing.ages import ages
from tests.auditing.models import small_graph
from tests.auditing.what_if.scene import (
    Reads,
    explored,
    found,
    graph_of,
    law,
    row_of,
    state,
    what_if_of,
)
from tests.causal.test_local import OneColumn
from tests.graphs import random_graph


@pytest.mark.parametrize("number", [False, True])
def test_models_of_whole_graphs_show_what_was_scored(number: bool) -> None:
    graph = ages(150) if number else small_graph(150)
    causal = FittedCausalModel("shift", "fixed").fit(graph) if number else None
    calls = []

    def model(world: SensitiveGraph) -> Tensor:
        calls.append(1)
        return torch.sigmoid(world.x.double().sum(dim=1))

    few: dict[str, Any] = {
        "affected_people": 0,
        "probes": False,
        "other_causal_models": False,
        "self_people": 20,
    }
    before = fg.audit(model, Worlds(graph, causal), what_if_people=0, **few)
    count = len(calls)
    audit = fg.audit(model, Worlds(graph, causal), what_if_people=14, **few)
    assert len(calls) == 2 * count
    assert before.what_if is None
    what_if = what_if_of(audit)
    assert (what_if.others, what_if.models, what_if.doses) == (("as they are",), ("own",), (1.0,))
    people = audit.people.set_index("node_id")
    assert len(what_if.people) == 14
    for person in what_if.people:
        known = people.loc[person.node_id]
        first, second = person.states
        assert first.score == pytest.approx(known["score"], rel=6e-6)
        assert second.score == pytest.approx(known["score_strict_self"], rel=6e-6)
        value = known["other_sens"] if number else 1 - known["sens"]
        assert person.attributes[second.attributes][0] == pytest.approx(value)
        assert person.why is None
    assert "takes the whole graph" in what_if.notes[0]


def test_a_causal_model_of_whole_graphs_has_few_people() -> None:
    graph = random_graph(150, 400)
    audit = explored(Reads(), Worlds(graph, OneColumn().fit(graph)), people=60)
    what_if = what_if_of(audit)
    assert len(what_if.people) == 10
    people = audit.people.set_index("node_id")
    for person in what_if.people:
        known = people.loc[person.node_id]
        (second,) = person.states[1:]
        assert second.score == pytest.approx(known["score_strict_self"], rel=6e-6)
        # Friends are lost.
        assert len(person.links[second.links].gone) + person.hidden >= person.members[0].links


def test_a_folder_of_scores_shows_what_is_in_it(tmp_path: Path) -> None:
    worlds = Worlds(small_graph(60), draws=1)
    exported(worlds, tmp_path)
    given = FolderAdapter(tmp_path)
    audit = fg.audit(given, worlds, nodes=NODES, self_people=3, other_causal_models=False)
    what_if, known = what_if_of(audit), audit.people.set_index("node_id")
    assert len(what_if.people) == 3
    for person in what_if.people:
        first, second = person.states
        row = known.loc[person.node_id]
        assert first.score == pytest.approx(row["score"], rel=6e-6)
        assert second.score == pytest.approx(row["score_strict_self"], rel=6e-6)
        assert second.own == 1 - row["sens"]
    assert "only worlds that the audit had scored" in what_if.notes[0]
    nobody = fg.audit(given, worlds, nodes=NODES, self_people=0, other_causal_models=False)
    assert nobody.what_if is None


def test_unknown_attributes_are_those_of_the_first_completion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairgear.auditing.any_model.COMPLETIONS", 2)
    graph = graph_of("fitted")
    x, known = graph.x.clone(), torch.arange(150) % 5 > 0
    x[:, 1] *= known
    hidden = graph.replace(x=x, sens=graph.sens * known, sens_known=known)
    first = Unknown(hidden).completed(0)
    what_if = what_if_of(explored(Reads(), hidden, draws=1, other_causal_models=False))
    assert what_if.notes[0].startswith("Unknown sensitive attributes")
    model = Reads()
    for person in what_if.people:
        row = row_of(first, person)
        assert person.members[0].sens == first.sens[row]
        assert state(person).score == pytest.approx(float(model.score(first)[row]), rel=6e-6)
        other = state(person, own=1 - int(first.sens[row]))
        assert person.attributes[other.attributes][0] == 1 - first.sens[row]


def test_attributes_that_are_crossed() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "race": rng.choice(["black", "white"], 200),
            "sex": rng.choice(["female", "male"], 200),
            "income": rng.integers(10, 90, 200),
            "debt": rng.integers(10, 90, 200),
            "approved": rng.integers(0, 2, 200),
        }
    )
    settings: dict[str, Any] = {"label": "approved", "sensitive": "race,sex", "similarity": 0.7}
    graph = fg.graph.split(fg.graph.from_tables(table, **settings), seed=0)
    cells = ("black, female", "black, male", "white, female", "white, male")
    what_if = what_if_of(explored(Reads(0.02, -3), graph, draws=1))
    assert what_if.own == cells
    assert what_if.others[1:] == tuple(f"all {cell}" for cell in cells)
    assert any("too many worlds" in note for note in what_if.notes)
    for person in what_if.people:
        own = [one.own for one in person.states if one.model == one.dose == one.others == 0]
        sens = int(person.members[0].sens)
        assert own == [-1, *(group for group in range(4) if group != sens)]
        why = person.why
        for part in () if why is None else why.parts:
            if why is not None and part.name == "race, sex":
                assert (part.before, part.after) == (cells[sens], cells[why.own])


def test_nobody_without_a_causal_model_or_where_not_asked() -> None:
    graph = random_graph(60, 120)
    x = graph.x.clone()
    x[:, 1] = 0
    one = graph.replace(x=x, sens=torch.zeros_like(graph.sens))
    assert explored(Reads(), one).what_if is None
    assert explored(Reads(), graph, people=0).what_if is None
    with pytest.raises(fg.errors.ParameterError, match="what_if_people"):
        explored(Reads(), graph, people=-1)


def test_few_controls_where_the_family_is_not_asked() -> None:
    graph = graph_of("fitted")
    worlds = Worlds(graph, law("fitted"), draws=1)
    what_if = what_if_of(explored(Reads(), worlds, other_causal_models=False))
    assert what_if.models == ("own",)
    assert what_if.doses == (1.0,)
    assert what_if.notes == ("Other causal models and doses were not asked for.",)
    for mine, full in zip(what_if.people, found("fitted").people, strict=True):
        wanted = [(s.own, s.others, s.score) for s in full.states if not s.model and not s.dose]
        assert [(one.own, one.others, one.score) for one in mine.states] == wanted


def test_neighbours_of_hubs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgear.auditing.what_if.explorer.MOST_NEIGHBORS", 5)
    graph = graph_of("fitted")
    what_if = what_if_of(explored(Reads(), Worlds(graph, law("fitted"), draws=1)))
    hubs = 0
    for person in what_if.people:
        set_ = any(one.others for one in person.states)
        assert set_ == (0 < person.members[0].links <= 5)
        hubs += person.members[0].links > 5
    assert 0 < hubs < 12
    assert what_if.notes[-1].startswith(f"{hubs} of these people have more than 5 neighbours")

"""Audits of models whose behaviour is known, and what they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import fairgear
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, adapt, audit
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.auditing.names import Names
from fairgear.auditing.result import ModelInfo, Setup
from fairgear.causal import CausalModel, FittedCausalModel, for_graph
from fairgear.datasets import statistics
from fairgear.errors import ParameterError
from fairgear.graph import TableColumns, read_graph, split
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    NeighborSens,
    RememberedNeighborSens,
    Unshifted,
    measure,
)
from tests.graph.people import FRIENDS, PEOPLE, people


def own_world(graph: SensitiveGraph, person: int) -> tuple[list[int], list[int]]:
    """Who a person's neighbours are, and would be if their own s were the other one.

    Straight from the equations of the paper, pair by pair.
    """
    z, s, settings = graph.latent, graph.sens.tolist(), graph.mechanism.settings
    assert z is not None
    cosines = (z @ z[person] / (z.norm(dim=1) * z[person].norm())).tolist()

    def near(own: int) -> list[int]:
        return [
            other
            for other, cosine in enumerate(cosines)
            if other != person and cosine + settings.a * (own == s[other]) >= settings.threshold
        ]

    return near(s[person]), near(1 - s[person])


def test_what_is_known_without_running_anything(graph: SensitiveGraph, worlds: Worlds) -> None:
    def metrics(model: FakeModel) -> dict[str, float]:
        return audit(model, worlds, other_causal_models=False).metrics

    constant = metrics(Constant())
    assert [constant[key] for key in COUNTERFACTUAL] == [0] * 5
    copies = metrics(CopiesSens())
    assert (copies["delta_cf_self"], copies["delta_cf_both"]) == (1, 1)
    assert copies["delta_cf_neighbor"] == 0
    unshifted = metrics(Unshifted(graph))
    strict = ["delta_cf", "delta_cf_self", "delta_cf_neighbor", "delta_cf_both"]
    assert [unshifted[key] for key in strict] == [0] * 4
    features = metrics(Features())
    assert features["delta_cf_self"] > 0 == features["delta_cf_neighbor"]


def test_neighbours_along_factual_edges_are_nothing_of_ones_own(
    graph: SensitiveGraph, worlds: Worlds
) -> None:
    model = RememberedNeighborSens(graph)
    found = audit(model, worlds, other_causal_models=False).metrics
    assert found["delta_cf_self"] == 0
    assert found["delta_cf_neighbor"] > 0.2
    assert found["delta_cf_both"] > 0.2


def test_neighbours_along_counterfactual_edges_by_brute_force(
    graph: SensitiveGraph, worlds: Worlds
) -> None:
    def label(near: list[int]) -> bool:
        return int(graph.sens[near].sum()) > len(near) / 2

    flips = []
    for person in graph.test_mask.nonzero()[:, 0].tolist():
        before, after = own_world(graph, person)
        assert before == graph.edge_index[1, graph.edge_index[0] == person].tolist()
        flips.append(label(before) != label(after))
    found = audit(NeighborSens(), worlds, other_causal_models=False)
    assert 0 < sum(flips) < len(flips)
    assert found.metrics["delta_cf_self"] == pytest.approx(np.mean(flips))
    assert found.people["flip_strict_self"].tolist() == [float(flip) for flip in flips]


def test_the_numbers_are_those_of_the_evaluation(worlds: Worlds, everything: Audit) -> None:
    plain = measure(Everything(), worlds, self_people=None)
    assert everything.causal_models is not None
    bounds = everything.causal_models.metrics()
    assert plain.metrics == {k: v for k, v in everything.metrics.items() if k not in bounds}
    assert plain.intervals == {k: v for k, v in everything.intervals.items() if k not in bounds}
    assert everything.flips == plain.flips
    same = list(plain.people.columns[:-1])
    pd.testing.assert_frame_equal(everything.people[same], plain.people[same])
    assert list(everything.people) == [*same, "neighbors_that_matter"]


def test_it_is_one_name_of_the_package(graph: SensitiveGraph) -> None:
    found = fairgear.audit(Constant(), graph, draws=1, self_people=2, name="the same for all")
    assert isinstance(found, fairgear.Audit)
    assert found.model == ModelInfo("the same for all", "graph estimator", 0.5)
    assert found.config == {}
    assert found.setup == Setup(
        dataset="synthetic",
        people=60,
        draws=1,
        seed=0,
        level=0.95,
        self_people=2,
        causal_model="synthetic",
        worlds=Worlds(graph, draws=1).fingerprint,
        graph=graph.fingerprint(),
    )


def test_the_threshold_and_the_nodes_can_be_given(graph: SensitiveGraph, worlds: Worlds) -> None:
    rows = graph.val_mask.nonzero()[:, 0]
    found = audit(CopiesSens(), worlds, threshold=0.95, nodes=rows, self_people=0)
    assert found.people["node_id"].tolist() == rows.tolist()
    assert not found.people["label"].any()
    assert found.metrics["delta_cf"] == 0
    assert found.setup.self_people == 0
    assert math.isnan(found.metrics["delta_cf_self"])


def test_the_verdict_and_the_probes_come_before_the_notes(worlds: Worlds) -> None:
    found = audit(Constant(), worlds)
    assert found.causal_models is not None
    assert found.notes[0].startswith("It does not read the sensitive column")
    assert found.notes[1].startswith("It does not read the graph")
    assert found.notes[2] == found.causal_models.verdict
    plain = measure(Constant(), worlds)
    assert found.notes[3:] == plain.notes
    assert (plain.probes, plain.causal_models) == (None, None)
    alone = audit(Constant(), worlds, other_causal_models=False)
    assert alone.causal_models is None
    assert alone.notes[2:] == plain.notes


def test_what_it_says_about_the_graph_and_its_causal_model(
    graph: SensitiveGraph, worlds: Worlds, everything: Audit
) -> None:
    assert everything.graph == statistics(graph)
    assert everything.diagnostics == worlds.diagnostics
    assert everything.names == Names(attribute="s")


def test_a_causal_model_of_ones_own_choice(graph: SensitiveGraph) -> None:
    fitted: CausalModel = FittedCausalModel("quantile").fit(graph)
    found = measure(Everything(), graph, causal_model=fitted, draws=1, self_people=2)
    assert found.setup.causal_model == "fitted"
    exact = measure(Everything(), graph, causal_model=for_graph(graph), draws=1, self_people=2)
    column = "score_strict_rate_1"
    assert not np.allclose(found.people[column], exact.people[column], atol=1e-3)
    pd.testing.assert_series_equal(found.people["score"], exact.people["score"])


def test_own_data_keep_their_names() -> None:
    columns = TableColumns(label="approved", sensitive="sex")
    graph = split(read_graph(PEOPLE, columns, FRIENDS))

    def score(graph: SensitiveGraph) -> Tensor:
        near = NeighborSens().score(graph)
        return torch.sigmoid(3 * graph.sens.double() + 3 * near - 3)

    found = audit(score, graph, draws=1, self_people=3)
    assert found.names == Names(
        ("female", "male"), ("no", "yes"), attribute="sex", label="approved"
    )
    names = set(people().id)
    assert found.affected
    for one in found.affected:
        assert one.node_id in names
        assert {neighbor.node_id for neighbor in one.neighbors} <= names
    first = found.affected[0]
    row = found.people.set_index("node_name").loc[str(first.node_id)]
    assert row["neighbors_that_matter"].startswith(str(first.neighbors[0].node_id))


@pytest.mark.parametrize(
    ("model", "kind", "sampled"),
    [(Everything(), "graph estimator", 60), (lambda graph: graph.sens, "Python callable", 60)],
)
def test_kinds(worlds: Worlds, model: Any, kind: str, sampled: int) -> None:
    found = audit(model, worlds)
    assert found.model.kind == kind
    assert found.setup.self_people == sampled


def test_in_a_large_graph_some_people_are_changed_alone(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.auditing.any_model.LARGE", len(worlds.graph.x) - 1)
    monkeypatch.setattr("fairgear.auditing.any_model.MOST_ALONE", 7)
    # As for a model that is scored from people's surroundings.
    monkeypatch.setattr("fairgear.auditing.adapters.base.Adapter.self_people", lambda *_: None)
    few: dict[str, Any] = {"affected_people": 0, "other_causal_models": False}
    found = audit(Everything(), worlds, **few)
    assert found.setup.self_people == 7
    assert "Of 60 people 7 are changed alone" in " ".join(found.notes)
    all_of_them = audit(Everything(), worlds, self_people=60, **few)
    assert all_of_them.setup.self_people == 60
    assert not any("changed alone" in note for note in all_of_them.notes)


def test_what_a_model_raises_is_said_with_its_world(worlds: Worlds) -> None:
    class Fails(FakeModel):
        def score(self, graph: SensitiveGraph) -> Tensor:
            if not torch.equal(graph.edge_index, worlds.graph.edge_index):
                raise RuntimeError("no such edges\nin training")
            return torch.full((len(graph.x),), 0.7)

    with pytest.raises(ParameterError) as caught:
        audit(Fails(), worlds)
    assert str(caught.value).startswith(
        "the model 'Fails' in the world 'strict-rate-0-draw-0': got RuntimeError: no such edges; "
    )


@pytest.mark.parametrize("wrong", [{"self_people": -1}, {"affected_people": -3}])
def test_numbers_of_people_are_not_negative(worlds: Worlds, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="allowed: 0 or more"):
        audit(Constant(), worlds, **wrong)


def test_a_seed_is_checked(worlds: Worlds) -> None:
    with pytest.raises(ParameterError, match="seed of the worlds"):
        Worlds(worlds.graph, seed=-1)


@pytest.mark.parametrize("given", [{"draws": 2}, {"seed": 1}, {"released_share": 0.5}])
def test_worlds_have_their_own_draws_and_seed(worlds: Worlds, given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ParameterError, match=f"{name}: got a value beside Worlds"):
        audit(Constant(), worlds, **given)


def test_its_repr_is_short(worlds: Worlds, everything: Audit) -> None:
    for one in (worlds, worlds.factual, adapt(Everything()), everything.compare(everything)):
        assert len(repr(one)) < 400, one
    text = repr(everything)
    assert text.startswith("Audit('Everything' on 'synthetic', 60 people: accuracy 0.")
    assert len(text) < 200
    assert len(everything._repr_html_()) < 8000

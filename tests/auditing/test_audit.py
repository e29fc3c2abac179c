"""Audits of models whose behaviour is known, and what an audit promises of itself."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import fairgear
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, audit, audit_in, evaluate_in
from fairgear.auditing.response import COUNTERFACTUAL
from fairgear.causal import CausalModel, FittedCausalModel, SyntheticCausalModel, for_graph
from fairgear.errors import FairgearError, ParameterError
from fairgear.graph import TableColumns, read_graph, split
from fairgear.metrics import METRICS
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    LastDigit,
    NeighborSens,
    RememberedNeighborSens,
    Unshifted,
    small_graph,
)
from tests.graph.people import FRIENDS, PEOPLE, people


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph()


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph)


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return audit_in(worlds, Everything())


def written(one: Audit) -> str:
    """All of it as text: NaN is null, and numbers keep every bit."""
    table = one.people.to_json(orient="split", double_precision=15)
    return json.dumps(one.to_dict(), allow_nan=False) + table


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
        return audit_in(worlds, model, other_causal_models=False).metrics

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
    found = audit_in(worlds, model, other_causal_models=False).metrics
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
    found = audit_in(worlds, NeighborSens(), other_causal_models=False)
    assert 0 < sum(flips) < len(flips)
    assert found.metrics["delta_cf_self"] == pytest.approx(np.mean(flips))
    assert found.people["flip_strict_self"].tolist() == [float(flip) for flip in flips]


def test_the_numbers_are_those_of_the_evaluation(worlds: Worlds, everything: Audit) -> None:
    plain = evaluate_in(worlds, Everything(), self_people=None)
    assert everything.metrics == plain.metrics
    assert everything.intervals == plain.intervals
    assert everything.evaluation.flips == plain.flips
    columns = list(plain.people)
    pd.testing.assert_frame_equal(everything.people[columns], plain.people)
    assert list(everything.people) == [*columns, "neighbors_that_matter"]


def test_it_is_one_name_of_the_package(graph: SensitiveGraph) -> None:
    found = fairgear.audit(Constant(), graph, draws=1, self_people=2, name="the same for all")
    assert isinstance(found, fairgear.Audit)
    assert found.model == {
        "name": "the same for all",
        "kind": "graph estimator",
        "threshold": 0.5,
    }
    assert found.config == {
        "dataset": "synthetic",
        "people": 60,
        "draws": 1,
        "seed": 0,
        "level": 0.95,
        "self_people": 2,
        "causal_model": "synthetic",
        "worlds": Worlds(graph, draws=1).fingerprint,
    }


def test_the_threshold_and_the_nodes_can_be_given(graph: SensitiveGraph, worlds: Worlds) -> None:
    rows = graph.val_mask.nonzero()[:, 0]
    found = audit_in(worlds, CopiesSens(), threshold=0.95, nodes=rows, self_people=0)
    assert found.people["node_id"].tolist() == rows.tolist()
    assert not found.people["label"].any()
    assert found.metrics["delta_cf"] == 0
    assert found.config["self_people"] == 0
    assert math.isnan(found.metrics["delta_cf_self"])


def test_the_verdict_and_the_sight_come_before_the_notes(worlds: Worlds) -> None:
    found = audit_in(worlds, Constant())
    assert found.causal_models is not None
    assert found.notes[0].startswith("It does not look at the sensitive column")
    assert found.notes[1].startswith("It does not look at the graph")
    assert found.notes[2] == found.causal_models.verdict
    assert found.notes[3:] == found.evaluation.notes
    alone = audit_in(worlds, Constant(), other_causal_models=False)
    assert alone.causal_models is None
    assert alone.notes[2:] == alone.evaluation.notes


def test_what_it_says_about_the_graph_and_its_causal_model(
    graph: SensitiveGraph, worlds: Worlds, everything: Audit
) -> None:
    assert everything.graph["name"] == "synthetic"
    assert everything.diagnostics == worlds.diagnostics.to_dict()
    assert everything.names == {}


def test_to_a_dictionary_and_back(worlds: Worlds, everything: Audit) -> None:
    for one in (everything, audit_in(worlds, Constant(), other_causal_models=False)):
        plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        again = Audit.from_dict(plain, one.people)
        assert written(again) == written(one)
        assert again.notes == one.notes
        assert again.evaluation.flips[1:3] == one.evaluation.flips[1:3]
        assert type(again.affected) is tuple
        assert again.affected == one.affected
        assert again.model_card() == one.model_card()
    assert math.isnan(again.metrics["r2"])


def test_what_is_no_audit_is_refused(everything: Audit) -> None:
    plain = everything.to_dict()
    for key in ("model", "metrics", "details", "affected"):
        with pytest.raises(KeyError):
            Audit.from_dict({k: v for k, v in plain.items() if k != key}, everything.people)


def test_nothing_in_it_can_be_set(everything: Audit) -> None:
    assert everything.causal_models is not None
    for part in (
        everything,
        everything.sight,
        everything.evaluation,
        everything.evaluation.flips[0],
        everything.evaluation.groups[0],
        everything.causal_models,
        everything.causal_models.rows[0],
        everything.affected[0],
        everything.affected[0].neighbors[0],
    ):
        assert dataclasses.is_dataclass(part)
        name = dataclasses.fields(part)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, None)


def test_one_table_of_all_that_has_an_interval(everything: Audit) -> None:
    table = everything.to_frame()
    assert list(table) == ["part", "name", "value", "low", "high", "people"]
    assert everything.causal_models is not None
    counts = {
        "metric": len(METRICS),
        "flips": len(everything.evaluation.flips),
        "group": 2 * 4,
        "causal model": len(everything.causal_models.rows),
    }
    assert table["part"].value_counts(sort=False).to_dict() == counts
    assert not table.duplicated(["part", "name"]).any()
    numbers = table[["value", "low", "high", "people"]].to_numpy().tolist()
    rows = dict(zip(zip(table["part"], table["name"], strict=True), numbers, strict=True))
    asked = dict.fromkeys(METRICS, 60) | {
        key: int(everything.people[f"flip_{where}"].notna().sum())
        for key, where in COUNTERFACTUAL.items()
    }
    assert asked["delta_cf_neighbor"] < 60
    asked["delta_eo"] = int((everything.people["y"] == 1).sum())
    for key, interval in everything.intervals.items():
        assert rows["metric", key] == [everything.metrics[key], *interval, asked[key]]
    assert (table["low"] - 1e-9 <= table["value"]).all()
    assert (table["value"] <= table["high"] + 1e-9).all()
    assert rows["causal model", "own"][0] == everything.metrics["delta_cf"]
    measured = everything.people["flip_strict_neighbours"].notna().sum()
    assert rows["flips", "strict neighbours"][3] == measured


def test_the_same_model_twice_differs_in_nothing(everything: Audit) -> None:
    found = everything.compare(everything)
    assert [row.metric for row in found.rows] == list(METRICS)
    assert all(row.difference == 0 and row.better is None for row in found.rows)
    for row in found.rows:
        assert row.first == row.second == pytest.approx(everything.metrics[row.metric])
    assert (found.first, found.second) == ("Everything", "Everything")


def test_two_models_on_the_same_people(worlds: Worlds, everything: Audit) -> None:
    copies = audit_in(worlds, CopiesSens())
    rows = {row.metric: row for row in everything.compare(copies).rows}
    assert rows["delta_cf_self"].better == "first"
    for key, row in rows.items():
        expected = everything.metrics[key] - copies.metrics[key]
        assert row.difference == pytest.approx(expected, nan_ok=True)


def test_other_counterfactuals_cannot_be_compared(
    graph: SensitiveGraph, worlds: Worlds, everything: Audit
) -> None:
    fitted = FittedCausalModel(edges="fixed").fit(graph)
    few: dict[str, Any] = {"self_people": 0, "other_causal_models": False}
    for other in (
        Worlds(graph, seed=1),
        Worlds(graph, draws=2),
        Worlds(graph, released_share=0.2),
        Worlds(graph, fitted),
        Worlds(small_graph(seed=1)),
    ):
        with pytest.raises(ParameterError, match="audits on different graphs"):
            everything.compare(audit_in(other, Constant(), **few))
    elsewhere = audit_in(worlds, Constant(), nodes=graph.val_mask, **few)
    with pytest.raises(ParameterError, match="two tables of people"):
        everything.compare(elsewhere)
    # Made anew, the same worlds are the same.
    again = audit(Everything(), small_graph(), other_causal_models=False)
    assert all(row.difference == 0 for row in everything.compare(again).rows)


def test_failures(worlds: Worlds, everything: Audit) -> None:
    value, ends = everything.metrics["delta_cf"], everything.intervals["delta_cf"]
    assert everything.failures("delta_cf > 0.05", "auroc < 0.1") == [
        f"delta_cf is {value:.4g} (interval {ends.low:.4g} to {ends.high:.4g}), which is > 0.05."
    ]
    assert everything.failures() == []
    (undefined,) = audit_in(worlds, Constant()).failures("r2 > 0.5")
    assert undefined.startswith("r2 is undefined")
    with pytest.raises(ParameterError, match="a condition"):
        everything.failures("delta_cf")


def test_files_are_written_whole(everything: Audit, worlds: Worlds, tmp_path: Path) -> None:
    other = everything.compare(audit_in(worlds, Constant()))
    page, facts, card = (tmp_path / "new" / name for name in ("a.html", "a.json", "a.md"))
    everything.save_html(page, against=other)
    everything.save_json(str(facts), against=other)
    everything.save_model_card(card)
    # Nothing but the three: no temporary file stays.
    assert {path.name for path in page.parent.iterdir()} == {"a.html", "a.json", "a.md"}
    assert page.read_text().rstrip().endswith("</html>")
    found = json.loads(facts.read_text())
    assert found.pop("comparison") == json.loads(json.dumps(other.to_dict()))
    assert found == json.loads(json.dumps(everything.to_dict()))
    assert card.read_text() == everything.model_card()


def test_a_file_that_cannot_be_written_leaves_what_was_there(
    everything: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, save in (
        ("a.html", everything.save_html),
        ("a.json", everything.save_json),
        ("a.md", everything.save_model_card),
    ):
        (tmp_path / name).write_text("before")
        with pytest.raises(FairgearError, match="cannot write"):
            save(tmp_path)
        with monkeypatch.context() as patch:
            # As on a full disk: the last step fails.
            patch.setattr("os.replace", _refuse)
            with pytest.raises(FairgearError, match="cannot write"):
                save(tmp_path / name)
        assert (tmp_path / name).read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a.json", "a.md"}


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


class Counting(SyntheticCausalModel):
    """Counts the worlds that it is asked for, by who is flipped in them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        assert isinstance(sens, Tensor)
        self.asked.append(tuple((sens != graph.sens).nonzero()[:, 0].tolist()))
        return super().counterfactual(graph, sens, seed=seed)


def test_worlds_are_made_once_for_all_models(graph: SensitiveGraph) -> None:
    counting = Counting().fit(graph)
    worlds = Worlds(graph, counting, draws=2)
    audit_in(worlds, Everything(), self_people=3)
    shared = [who for who in counting.asked if len(who) > 1]
    # By rate, of which 0.5 has two draws, and as many softened ones; two random ones.
    assert len(shared) == 4 + 4 + 2
    alone = [who for who in counting.asked if len(who) == 1]
    assert 3 < len(alone) <= 3 + 10 * 8
    counting.asked.clear()
    audit_in(worlds, Everything(), self_people=3)
    assert sorted(counting.asked) == sorted(alone)
    # A model that moves for nobody has nobody whose neighbours one would ask about.
    counting.asked.clear()
    audit_in(worlds, Constant(), self_people=3)
    assert len(counting.asked) == 3


def every_world(worlds: Worlds) -> list[SensitiveGraph]:
    made = [worlds.factual, worlds.edgeless, worlds.placebo, *worlds.random]
    for by_rate in (worlds.strict, worlds.released, *(o.worlds for o in worlds.alternatives)):
        made.extend(world for draws in by_rate.values() for world in draws)
    return [world.graph for world in made]


class Vandal(nn.Module):
    """Overwrites what it is given, and drops some of it while it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(26, 1)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        found: Tensor = self.dropout(self.linear(x).squeeze(1))
        x.zero_()
        edge_index.zero_()
        return found


def overwriting(graph: SensitiveGraph) -> Tensor:
    scores = torch.sigmoid(graph.x.sum(dim=1))
    graph.x.zero_()
    graph.sens.zero_()
    graph.edge_index = graph.edge_index[:, :0]
    return scores


def test_nothing_is_changed_by_asking(graph: SensitiveGraph) -> None:
    worlds = Worlds(graph, draws=1)
    before = [world.fingerprint() for world in every_world(worlds)]
    torch.manual_seed(0)
    module = Vandal().train()
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    drawn = torch.get_rng_state()
    for model in (module, overwriting, Everything()):
        audit_in(worlds, model, self_people=2)
    assert [world.fingerprint() for world in every_world(worlds)] == before
    assert all(part.training for part in module.modules())
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())
    assert torch.equal(torch.get_rng_state(), drawn)


def test_an_audit_repeats_bit_for_bit(everything: Audit) -> None:
    again = audit(Everything(), small_graph())
    assert written(again) == written(everything)


def test_rounding_is_no_rise_and_no_fall(worlds: Worlds) -> None:
    found = audit_in(worlds, LastDigit(), other_causal_models=False)
    (near,) = (row for row in found.evaluation.flips if row.intervention == "neighbours")
    # A person's own features: others' attributes move nobody.
    assert (near.rate, near.rising, near.falling) == (0, 0, 0)


@pytest.mark.parametrize("self_people", [None, 7])
def test_the_order_of_the_rows_counts_for_nothing(
    graph: SensitiveGraph, worlds: Worlds, self_people: int | None
) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    one = audit_in(worlds, Everything(), self_people=self_people)
    other = audit(Everything(), graph.permute(order), self_people=self_people)
    pd.testing.assert_frame_equal(one.people, other.people)
    facts = [found.to_dict() for found in (one, other)]
    moved = []
    for found in facts:
        # The fingerprint is of the rows as they are.
        del found["config"]["worlds"]
        effects = found["details"]["diagnostics"]["effects"]
        moved.append([effect.pop("feature_change") for effect in effects])
    assert facts[0] == facts[1]
    # A mean over everyone's features, which may be summed in another order.
    assert moved[0] == pytest.approx(moved[1], rel=1e-12)


def test_one_group_alone_has_no_counterfactuals(graph: SensitiveGraph) -> None:
    x = graph.x.clone()
    x[:, 0] = 1
    alike = graph.replace(x=x, sens=torch.ones_like(graph.sens), mechanism=None)
    found = audit(Everything(), alike)
    assert all(math.isnan(found.metrics[key]) for key in COUNTERFACTUAL)
    assert found.metrics["auroc"] > 0
    assert (found.diagnostics, found.causal_models, found.affected) == (None, None, ())
    assert found.config["causal_model"] is None
    assert found.sight.graph is True
    assert written(Audit.from_dict(found.to_dict(), found.people)) == written(found)
    assert found.failures("delta_cf > 0.05")[0].startswith("delta_cf is undefined")
    assert "undefined" in found.model_card()


def test_a_causal_model_of_ones_own_choice(graph: SensitiveGraph) -> None:
    fitted: CausalModel = FittedCausalModel("quantile").fit(graph)
    found = audit(Everything(), graph, causal_model=fitted, draws=1, self_people=2)
    assert found.config["causal_model"] == "fitted"
    exact = audit(Everything(), graph, causal_model=for_graph(graph), draws=1, self_people=2)
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
    assert found.names == {"groups": ["female", "male"], "answers": ["no", "yes"]}
    names = set(people().id)
    assert found.affected
    for one in found.affected:
        assert one.node_id in names
        assert {neighbor.node_id for neighbor in one.neighbors} <= names
    first = found.affected[0]
    row = found.people.set_index("node_name").loc[str(first.node_id)]
    assert row["neighbors_that_matter"].startswith(str(first.neighbors[0].node_id))


@pytest.mark.parametrize(
    ("model", "kind", "asked"),
    [(Everything(), "graph estimator", 60), (lambda graph: graph.sens, "Python callable", 60)],
)
def test_kinds(worlds: Worlds, model: Any, kind: str, asked: int) -> None:
    found = audit_in(worlds, model)
    assert found.model["kind"] == kind
    assert found.config["self_people"] == asked


def test_what_a_model_raises_is_said_with_its_world(worlds: Worlds) -> None:
    class Fails(FakeModel):
        def score(self, graph: SensitiveGraph) -> Tensor:
            if not torch.equal(graph.edge_index, worlds.graph.edge_index):
                raise RuntimeError("no such edges\nin training")
            return torch.full((len(graph.x),), 0.7)

    with pytest.raises(ParameterError) as caught:
        audit_in(worlds, Fails())
    assert str(caught.value).startswith(
        "the model 'Fails' in the world 'strict-rate-0-draw-0': got RuntimeError: no such edges; "
    )


def test_the_level_of_an_audit_is_that_of_its_comparisons(worlds: Worlds) -> None:
    one, other = (
        audit_in(worlds, model, self_people=0, other_causal_models=False, level=0.8)
        for model in (Everything(), Constant())
    )
    found = one.compare(other).to_dict()
    assert found == one.compare(other, level=0.8).to_dict()
    assert found != one.compare(other, level=0.95).to_dict()


@pytest.mark.parametrize("wrong", [{"self_people": -1}, {"affected_people": -3}])
def test_numbers_of_people_are_not_negative(worlds: Worlds, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="allowed: 0 or more"):
        audit_in(worlds, Constant(), **wrong)


def test_a_seed_is_checked(worlds: Worlds) -> None:
    with pytest.raises(ParameterError, match="seed of the worlds"):
        Worlds(worlds.graph, seed=-1)

"""Audits of graphs in which some people's attribute is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, FolderAdapter, Worlds, audit
from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.affected import Affected, Neighbor
from fairgear.auditing.completions import COMPLETIONS
from fairgear.auditing.groups import UNKNOWN
from fairgear.auditing.result import UNKNOWN_NOTE
from fairgear.auditing.unknown import bounds_of, parts_of
from fairgear.auditing.what_if.records import Member
from fairgear.causal import named
from fairgear.files import json_ready
from fairgear.graph import Attributes, complete
from fairgear.hashing import node_uniform
from fairgear.metrics import Interval
from fairgear.metrics.intervals import effective_clusters
from fairgear.metrics.rubin import combined_estimate
from tests.auditing.adapters.test_folder import NODES, exported, share
from tests.auditing.models import CopiesSens, FakeModel, measure, small_graph


class ReadsFeatures(FakeModel):
    """A linear model of features other than the attribute's column."""

    def score(self, graph: SensitiveGraph) -> torch.Tensor:
        return torch.sigmoid(graph.x[:, 1:].sum(dim=1))


def asked(model: object, graph: SensitiveGraph | Worlds, **options: Any) -> Audit:
    """A small audit, of one draw and of five people's own attribute."""
    if not isinstance(graph, Worlds):
        options = {"protocol": "strict", "draws": 1, **options}
    return measure(model, graph, self_people=5, **options)


@pytest.fixture(scope="module")
def told() -> SensitiveGraph:
    return small_graph(150).replace(mechanism=None)


@pytest.fixture(scope="module")
def hidden(told: SensitiveGraph) -> SensitiveGraph:
    return told.replace(sens_known=node_uniform(told.node_id, 0, "told") > 0.4)


@pytest.fixture(scope="module")
def found(hidden: SensitiveGraph) -> Audit:
    return asked(ReadsFeatures(), hidden)


@pytest.fixture(scope="module")
def each(hidden: SensitiveGraph) -> list[Audit]:
    """Audits of the completions, one after another."""
    graphs = [complete(hidden, draw) for draw in range(COMPLETIONS)]
    known = [graph.replace(sens_known=None) for graph in graphs]
    return [asked(ReadsFeatures(), graph) for graph in known]


def test_all_known_is_todays_audit(told: SensitiveGraph) -> None:
    everybody = torch.ones(len(told.x), dtype=torch.bool)
    one, other = (
        asked(ReadsFeatures(), graph) for graph in (told, told.replace(sens_known=everybody))
    )
    assert one.unknown is None
    assert other.unknown is None
    assert json_ready(one.metrics) == json_ready(other.metrics)
    assert json_ready(one.intervals) == json_ready(other.intervals)
    assert json_ready(one.flips) == json_ready(other.flips)
    assert one.people.equals(other.people.drop(columns="sens_known"))


def test_counts(found: Audit, hidden: SensitiveGraph) -> None:
    unknown, known = found.unknown, hidden.sens_known
    assert unknown is not None
    assert known is not None
    assert [part.name for part in unknown.parts] == ["everybody", "train", "val", "test", "audited"]
    assert unknown.everybody.unknown == int((~known).sum())
    assert unknown.audited == type(unknown.audited)(
        "audited", int(hidden.test_mask.sum()), int((hidden.test_mask & ~known).sum())
    )
    assert found.notes[0] == unknown.summary
    assert (
        found.people["sens_known"].tolist()
        == known[hidden.test_mask][hidden.node_id[hidden.test_mask].argsort()].tolist()
    )


class ReadsNeighbors(FakeModel):
    """The sum of the neighbours' features."""

    def score(self, graph: SensitiveGraph) -> torch.Tensor:
        heard = torch.zeros(len(graph.x)).index_add(
            0, graph.edge_index[1], graph.x[graph.edge_index[0]].sum(dim=1)
        )
        return torch.sigmoid(heard)


def test_guesses_are_marked_wherever_people_are_named(hidden: SensitiveGraph) -> None:
    """Neighbours outside the audited people too."""
    audited = asked(ReadsNeighbors(), hidden, affected_people=20, what_if_people=6)
    known = hidden.sens_known
    assert known is not None
    told = dict(zip(hidden.node_id.tolist(), known.tolist(), strict=True))
    neighbors = [one for person in audited.affected for one in person.neighbors]
    assert audited.what_if is not None
    members = [one for person in audited.what_if.people for one in person.members]
    every: tuple[Sequence[Affected | Neighbor | Member], ...] = (
        audited.affected,
        neighbors,
        members,
    )
    for people in every:
        assert [one.guessed for one in people] == [not told[int(one.node_id)] for one in people]
        assert {one.guessed for one in people} == {True, False}
    ids = set(audited.people["node_id"])
    assert any(one.guessed and one.node_id not in ids for one in neighbors) or any(
        one.guessed and one.node_id not in ids for one in members
    )


@pytest.mark.parametrize("key", ["delta_cf", "delta_cf_self", "accuracy", "auroc", "f1"])
def test_rates_are_combined_by_rubins_rules(key: str, found: Audit, each: list[Audit]) -> None:
    _, clusters = np.unique(found.people["community"], return_inverse=True)
    value, interval = combined_estimate(
        [one.metrics[key] for one in each],
        [one.intervals[key] for one in each],
        effective=effective_clusters(clusters),
        low=0.0,
        high=1.0,
    )
    assert found.metrics[key] == value
    assert found.intervals[key] == interval
    values = [one.metrics[key] for one in each]
    assert found.unknown is not None
    assert found.unknown.ranges[key] == Interval(min(values), max(values))


def test_people_of_unknown_group_have_a_line_and_ratios_are_combined(
    found: Audit, each: list[Audit]
) -> None:
    (line,) = found.margins
    people = found.people[~found.people["sens_known"]]
    assert (line.group, line.count) == (UNKNOWN, len(people))
    assert line.selection_rate == pytest.approx(people["label"].mean())
    ratios = [[one.groups[group].impact_ratio for one in each] for group in (0, 1)]
    assert [one.impact_ratio for one in found.groups] == pytest.approx(np.mean(ratios, axis=1))
    assert all(one.impact_ratio in one.intervals["impact_ratio"] for one in found.groups)


def test_gaps_are_combined_with_their_sign(found: Audit, each: list[Audit]) -> None:
    signed = []
    for one in each:
        zero, first = (group.selection_rate for group in one.groups)
        signed.append(first - zero)
    assert found.metrics["delta_dp"] == pytest.approx(abs(np.mean(signed)))
    assert found.unknown is not None
    over = found.unknown.ranges["delta_dp"]
    assert tuple(over) == pytest.approx(tuple(Interval(min(signed), max(signed)).absolute()))
    bounds = found.unknown.bounds["delta_dp"]
    assert bounds.least <= over.low
    assert over.high <= bounds.largest


def test_every_part_agrees_with_the_metrics(found: Audit) -> None:
    flips = {row.key: row for row in found.flips}["strict_average_over_rates"]
    assert (flips.rate, flips.interval) == (found.metrics["delta_cf"], found.intervals["delta_cf"])
    by_person = found.people["flip_strict_average_over_rates"]
    assert by_person.mean() == pytest.approx(found.metrics["delta_cf"])
    zero, one = found.groups
    gap = abs(one.selection_rate - zero.selection_rate)
    assert gap == pytest.approx(found.metrics["delta_dp"])
    assert zero.count + one.count in range(found.setup.people - 1, found.setup.people + 2)
    assert all(0 <= end <= 1 for row in found.flips for end in row.interval)


def test_other_causal_models_and_doses(
    hidden: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.auditing.any_model.COMPLETIONS", 2)
    found = audit(ReadsFeatures(), hidden, affected_people=2, self_people=5, draws=1)
    sensitivity = found.causal_models
    assert sensitivity is not None
    assert found.dose is not None
    assert sensitivity.rows[0].rate == found.metrics["delta_cf"]
    assert found.metrics["delta_cf_max"] == sensitivity.largest.rate
    assert sensitivity.verdict in found.notes
    assert f"{sensitivity.largest.rate:.4f}" in sensitivity.verdict
    assert found.dose.points[-1].rate == found.metrics["delta_cf"]
    assert len(found.affected) == 2
    assert found.probes is not None


def test_saved_and_loaded(found: Audit, tmp_path: Path) -> None:
    found.save(tmp_path)
    loaded = Audit.load(tmp_path)
    assert loaded.unknown == found.unknown
    assert json_ready(loaded.to_dict()) == json_ready(found.to_dict())


def test_nobody_flips(hidden: SensitiveGraph) -> None:
    class Alike(FakeModel):
        def score(self, graph: SensitiveGraph) -> torch.Tensor:
            return torch.linspace(0, 1, len(graph.x), dtype=torch.float64)

    found = asked(Alike(), hidden)
    assert found.metrics["delta_cf"] == 0.0
    interval = found.intervals["delta_cf"]
    assert interval.low == 0.0
    assert 0 < interval.high < 0.5


def test_a_copier_flips_as_the_definition_says(hidden: SensitiveGraph) -> None:
    found = asked(CopiesSens(), hidden)
    assert found.metrics["delta_cf_self"] == 1.0
    assert found.metrics["delta_dp"] == 1.0


def test_row_order_is_irrelevant(found: Audit, hidden: SensitiveGraph) -> None:
    order = torch.randperm(len(hidden.x), generator=torch.Generator().manual_seed(4))
    other = asked(ReadsFeatures(), hidden.permute(order))
    assert other.metrics == found.metrics
    assert other.intervals == found.intervals
    assert other.unknown == found.unknown


def test_given_causal_models_are_fitted_again(hidden: SensitiveGraph) -> None:
    model = named("quantile", complete(hidden), None)
    before = model.fingerprint()
    found = asked(ReadsFeatures(), Worlds(complete(hidden), model, draws=1))
    assert found.unknown is not None
    assert found.unknown.completions == COMPLETIONS
    assert model.fingerprint() == before
    assert found.setup.causal_model == model.name


def test_comparisons_say_what_they_leave_out(found: Audit, hidden: SensitiveGraph) -> None:
    other = asked(CopiesSens(), hidden)
    assert found.compare(other).notes[0] == UNKNOWN_NOTE


def several(told: SensitiveGraph) -> SensitiveGraph:
    group = told.sens + (node_uniform(told.node_id, 3, "third") < 0.3).long()
    known = node_uniform(told.node_id, 0, "told") > 0.3
    return told.replace(
        sens=group,
        sens_kind="categorical",
        sens_column=None,
        attributes=Attributes.single("race", "abc"),
        sens_known=known,
    )


def test_several_groups(told: SensitiveGraph) -> None:
    found = asked(ReadsFeatures(), several(told))
    assert found.unknown is not None
    over, bounds = found.unknown.ranges["delta_dp"], found.unknown.bounds["delta_dp"]
    assert not bounds.exact
    assert bounds.least <= over.low <= found.metrics["delta_dp"] <= over.high <= bounds.largest
    assert found.self_flips().shape == (3, 3)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_other_labels(kind: str, hidden: SensitiveGraph) -> None:
    number = hidden.x[:, 1].double()
    y = number if kind == "numbers" else (number > -0.5).long() + (number > 0.5).long()
    graph = hidden.replace(y=y)

    def model(graph: SensitiveGraph) -> Any:
        total = graph.x[:, 1:3].sum(dim=1).double()
        return (
            total
            if kind == "numbers"
            else torch.softmax(torch.stack([-total, 0 * total, total], 1), 1)
        )

    found = asked(model, graph)
    assert found.unknown is not None
    for key, bounds in found.unknown.bounds.items():
        over = found.unknown.ranges[key]
        assert bounds.least - 1e-12 <= over.low
        assert over.high <= bounds.largest + 1e-12
    gap = "delta_mean" if kind == "numbers" else "delta_dp"
    assert gap in found.unknown.bounds


def test_scores_in_a_folder_are_of_one_completion(hidden: SensitiveGraph, tmp_path: Path) -> None:
    worlds = Worlds(hidden, draws=1)
    exported(worlds, tmp_path)
    few: dict[str, Any] = {"nodes": NODES, "self_people": 3}
    folder = measure(FolderAdapter(tmp_path), worlds, **few)
    assert folder.unknown is not None
    assert folder.unknown.completions == 1
    assert folder.unknown.ranges == {}
    assert "figures are those of one guess" in folder.notes[0]
    told = measure(share, Worlds(hidden.replace(sens_known=None), draws=1), **few)
    assert folder.metrics["delta_cf"] == told.metrics["delta_cf"]


def test_a_number_has_ranges_and_no_bounds(told: SensitiveGraph) -> None:
    age = 40 + 10 * told.x[:, 1].double() + 5 * node_uniform(told.node_id, 9, "age")
    graph = told.replace(
        sens=age,
        sens_kind="continuous",
        attributes=Attributes.number("age"),
        sens_column=None,
        sens_known=node_uniform(told.node_id, 0, "told") > 0.3,
    )
    rows = graph.test_mask.nonzero()[:, 0]
    labels = (graph.x[rows, 0] > 0).long().numpy()
    assert bounds_of(graph, rows, Predictions(labels.astype(float), labels)) == {}
    assert parts_of(graph, rows)[-1].people == len(rows)

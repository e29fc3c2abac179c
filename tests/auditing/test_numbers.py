"""Audits where the sensitive attribute is a number, against the definitions written out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds
from fairgear.auditing.worlds import judged_by
from fairgear.causal import (
    at_random,
    changed_groups,
)
from fairgear.errors import FairgearError
from fairgear.graph import Attributes
from fairgear.report import render_page
from tests.auditing import ages as shared
from tests.auditing.ages import (
    SLOPES,
    Scores,
    Slope,
    ages,
    answers,
    audited,
    bands,
    cleared,
    copies,
    everything,
    interval,
    moved,
    whole_worlds,
)

graph, worlds, audit = shared.graph, shared.worlds, shared.audit


@pytest.mark.parametrize("model", [copies, cleared, everything])
def test_flips_are_those_of_the_definition(
    model: Scores, graph: SensitiveGraph, worlds: Worlds
) -> None:
    found = fg.audit(model, worlds, other_causal_models=False, affected_people=0, probes=False)
    rates = {row.intervention: row.rate for row in found.flips}
    before, expected = answers(model, graph, graph.sens), {}
    for name, drawn in whole_worlds(graph).items():
        expected[name] = np.mean([(answers(model, graph, s) != before).mean() for s in drawn])
        assert rates[name] == pytest.approx(expected[name])
    assert found.metrics["delta_cf"] == pytest.approx(np.mean(list(expected.values())))
    assert found.metrics["delta_cf_world"] == pytest.approx(max(expected.values()))
    assert found.metrics["delta_cf_world"] in found.intervals["delta_cf_world"]
    rows, flips = audited(graph), []
    for at, value in enumerate(changed_groups(graph, rows)):
        sens = graph.sens.clone()
        sens[rows[at]] = value
        flips.append(answers(model, graph, sens)[at] != before[at])
    assert rates["self"] == pytest.approx(np.mean(flips))


def test_neighbours_and_both_are_read_for_those_who_keep_and_change(
    graph: SensitiveGraph, audit: Audit
) -> None:
    rows, before = audited(graph), answers(everything, graph, graph.sens)
    sums = {"neighbours": np.zeros((2, len(rows))), "both": np.zeros((2, len(rows)))}
    for draw in range(3):
        sens = at_random(graph, draw=draw)
        flips = answers(everything, graph, sens) != before
        changed = (sens != graph.sens)[rows].numpy()
        for name, part in (("neighbours", ~changed), ("both", changed)):
            sums[name] += np.stack([part & flips, part])
    rates = {row.intervention: (row.rate, row.people) for row in audit.flips}
    for name, (flipped, times) in sums.items():
        there = times > 0
        assert rates[name][0] == pytest.approx((flipped[there] / times[there]).mean())
        assert rates[name][1] == there.sum()
    # With two groups, too, about half of the people keep their own in each draw.
    assert 0.75 < rates["neighbours"][1] / len(rows) < 1


def test_copying_flips_and_residuals_do_not(worlds: Worlds) -> None:
    copied, residual = (
        fg.audit(model, worlds, other_causal_models=False, affected_people=0, probes=False)
        for model in (copies, cleared)
    )
    assert copied.metrics["delta_cf"] > 0.4
    assert copied.metrics["delta_cf_neighbor"] == 0
    for name, value in residual.metrics.items():
        assert value == 0 or not name.startswith("delta_cf"), name
    assert residual.metrics["accuracy"] > 0.7


def test_ranges_take_the_place_of_groups(graph: SensitiveGraph, audit: Audit) -> None:
    rows = audited(graph).numpy()
    band, y = bands(graph)[rows], graph.y[rows].numpy()
    pred = answers(everything, graph, graph.sens)
    chosen = [pred[band == k].mean() for k in range(5)]
    right = [pred[(band == k) & (y == 1)].mean() for k in range(5)]
    assert audit.metrics["delta_dp"] == pytest.approx(max(chosen) - min(chosen))
    assert audit.metrics["delta_eo"] == pytest.approx(max(right) - min(right))
    assert [one.count for one in audit.groups] == np.bincount(band).tolist()
    assert [one.selection_rate for one in audit.groups] == pytest.approx(chosen)
    flips = audit.people["flip_strict_average_over_rates"].to_numpy()
    for k, one in enumerate(audit.groups):
        assert one.delta_cf == pytest.approx(flips[band == k].mean())
        assert one.intervals["delta_cf"] == interval(flips[band == k], audit, band == k)
    years = graph.sens.numpy()
    assert audit.names.groups == tuple(
        f"{years[bands(graph) == k].min():g} to {years[bands(graph) == k].max():g}"
        for k in range(5)
    )


def test_ranges_are_those_of_the_graph_whoever_is_audited(graph: SensitiveGraph) -> None:
    young = (graph.sens < 30).nonzero()[:, 0]
    found = fg.audit(
        copies, Worlds(graph, Slope()), nodes=young, other_causal_models=False, affected_people=0
    )
    assert [one.count for one in found.groups][2:] == [0, 0, 0]
    assert found.groups[0].count == int((bands(graph)[young.numpy()] == 0).sum())


def test_gaps_of_predicted_numbers_are_over_ranges() -> None:
    people = ages(200, number=True)

    def income(graph: SensitiveGraph) -> NDArray[np.float64]:
        return graph.x[:, 1:3].sum(dim=1).numpy()

    found = fg.audit(income, Worlds(people, Slope()), other_causal_models=False, affected_people=0)
    rows, sd = audited(people).numpy(), float(people.y.std(correction=0))
    band, pred, y = bands(people)[rows], income(people)[rows], people.y.numpy()[rows]
    for name, values in (("delta_mean", pred), ("delta_residual", y - pred)):
        means = [values[band == k].mean() for k in range(5)]
        assert found.metrics[name] == pytest.approx((max(means) - min(means)) / sd)
    before, flips = income(people), []
    for drawn in whole_worlds(people).values():
        apart = [np.abs(income(moved(people, s)) - before)[rows] / sd for s in drawn]
        flips.append(np.mean([(one > 0.1).mean() for one in apart]))
    assert found.metrics["delta_cf"] == pytest.approx(np.mean(flips))
    assert "mean residual" in render_page(found)


def test_r2_is_that_of_the_mean_number_around(graph: SensitiveGraph, audit: Audit) -> None:
    closed = torch.eye(len(graph.x), dtype=torch.float64)
    closed[graph.edge_index[0], graph.edge_index[1]] = 1.0
    mean = (closed @ graph.sens / closed.sum(dim=1))[audited(graph)].numpy()[:, None]
    pred = answers(everything, graph, graph.sens).astype(float)
    expected = LinearRegression().fit(mean, pred).score(mean, pred)
    assert audit.metrics["r2"] == pytest.approx(expected)
    low, high = audit.intervals["r2"]
    assert 0 <= low < expected < high <= 1


def test_the_matrix_of_own_ranges_is_counted_by_hand(graph: SensitiveGraph, audit: Audit) -> None:
    rows, before = audited(graph), answers(everything, graph, graph.sens)
    values, own = changed_groups(graph, rows), bands(graph)
    place = {age: own[at] for at, age in enumerate(graph.sens.tolist())}
    other = np.array([place[value] for value in values.tolist()])
    flips = []
    for at, value in enumerate(values):
        sens = graph.sens.clone()
        sens[rows[at]] = value
        flips.append(answers(everything, graph, sens)[at] != before[at])
    found, ends = audit.self_flips().to_numpy(), audit.self_intervals()
    for cell in np.ndindex(5, 5):
        asked = (own[rows] == cell[0]) & (other == cell[1])
        assert asked.any() == (cell in ends)
        if asked.any():
            assert found[cell] == pytest.approx(np.array(flips)[asked].mean())
            assert ends[cell] == interval(np.array(flips)[asked], audit, asked)


def test_people_keep_their_number(graph: SensitiveGraph, audit: Audit) -> None:
    table, rows = audit.people, audited(graph)
    assert np.array_equal(table["sens"], graph.sens[rows])
    assert np.array_equal(table["band"], bands(graph)[rows.numpy()])
    assert np.array_equal(table["other_sens"], changed_groups(graph, rows))
    assert (table["other_sens"] != table["sens"]).all()
    assert "other_group" not in table
    known = graph.sens[graph.node_id.argsort()].tolist()
    ids = graph.node_id.sort().values.tolist()
    for person in audit.affected:
        assert person.sens == known[ids.index(person.node_id)]
        for near in person.neighbors:
            assert near.sens == known[ids.index(near.node_id)]
    assert any(person.neighbors for person in audit.affected)


def test_people_are_scored_from_their_surroundings_as_on_the_graph(graph: SensitiveGraph) -> None:
    """A table model in worlds of one person each, which are not built as graphs."""
    x, y = graph.x.numpy(), graph.y.numpy()
    model = LogisticRegression(max_iter=1000).fit(x, y)
    found = fg.audit(model, Worlds(graph, Slope()), other_causal_models=False, affected_people=0)
    rows, own = audited(graph), model.predict(x)
    flips = []
    for at, value in zip(rows.tolist(), changed_groups(graph, rows), strict=True):
        row = x[at] + (float(value) - x[at, 0]) * SLOPES.numpy()
        row[0] = float(value)
        flips.append(model.predict(row[None])[0] != own[at])
    assert found.metrics["delta_cf_self"] == pytest.approx(np.mean(flips))
    assert np.mean(flips) > 0


def test_the_order_of_rows_changes_nothing(graph: SensitiveGraph, audit: Audit) -> None:
    other = graph.permute(torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1)))
    found = fg.audit(everything, Worlds(other, Slope()), other_causal_models=False)
    assert found.metrics == audit.metrics
    assert found.people.equals(audit.people)


def test_judges_learn_from_enough_people_of_every_age(graph: SensitiveGraph) -> None:
    def seen(which: Sequence[int]) -> SensitiveGraph:
        some = torch.isin(torch.from_numpy(bands(graph)), torch.tensor(which))
        none = torch.zeros_like(some)
        return graph.replace(train_mask=some, val_mask=none, test_mask=none)

    assert judged_by(seen([4])) is None
    mask = graph.train_mask & (graph.node_id % 4 == 1)
    few = graph.replace(train_mask=mask, val_mask=torch.zeros_like(mask))
    found = judged_by(few)
    assert found is not None
    assert torch.equal(found, ~mask)


def test_people_of_one_age_have_no_counterfactuals(graph: SensitiveGraph) -> None:
    x, sens = graph.x.clone(), torch.full_like(graph.sens, 44.0)
    x[:, 0] = sens
    found = fg.audit(copies, graph.replace(x=x, sens=sens))
    assert np.isnan(found.metrics["delta_cf"])
    assert any("everybody has the value 44." in note for note in found.notes)
    assert len(found.groups) == 1
    assert "44 to 44" in render_page(found)


def test_the_papers_evaluation_is_of_two_groups(graph: SensitiveGraph) -> None:
    with pytest.raises(FairgearError, match="allowed: strict") as raised:
        Worlds(graph, Slope(), protocol="released")
    assert "\n" not in str(raised.value)


def test_zeros_and_ones_as_a_number_give_the_worlds_of_two_groups(graph: SensitiveGraph) -> None:
    """The number 0 or 1: three of the five quantiles are one group, two the other."""
    old = (graph.sens > 45).double()
    x = graph.x.clone()
    x[:, 0] = old
    number = graph.replace(x=x, sens=old)
    two = graph.replace(x=x, sens=old.long(), attributes=Attributes.single("old", ("no", "yes")))

    def model(graph: SensitiveGraph) -> NDArray[np.float64]:
        return torch.sigmoid(graph.x[:, 1] - 2 + graph.sens).numpy()

    one, other = (
        fg.audit(model, Worlds(g, Slope()), other_causal_models=False, affected_people=0)
        for g in (number, two)
    )
    rates = [{row.intervention: row.rate for row in found.flips} for found in (one, other)]
    assert rates[0]["quantile 0.05"] == rates[1]["rate 0"]
    assert rates[0]["quantile 0.95"] == rates[1]["rate 1"]
    assert one.metrics["delta_dp"] == pytest.approx(other.metrics["delta_dp"])
    assert one.metrics["delta_cf_self"] == other.metrics["delta_cf_self"]
    assert one.metrics["r2"] == pytest.approx(other.metrics["r2"])

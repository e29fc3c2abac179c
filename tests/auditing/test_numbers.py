"""Audits where the sensitive attribute is a number, against the definitions written out by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, FolderAdapter, Worlds, export_worlds, family
from fairgear.auditing.worlds import judged_by
from fairgear.causal import (
    MIXED,
    Columns,
    FeatureModel,
    assigned,
    at_random,
    changed_groups,
    credibility,
)
from fairgear.errors import FairgearError
from fairgear.graph import Attributes
from fairgear.methods import METHODS
from fairgear.metrics import Interval, rate_interval
from fairgear.report import model_card, render_page
from fairgear.runs.predictions import write_predictions
from tests.auditing.ages import SLOPES, Scores, Slope, ages, cleared, copies, everything

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return ages()


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, Slope().fit(graph))


@pytest.fixture(scope="module")
def audit(worlds: Worlds) -> Audit:
    return fg.audit(everything, worlds, other_causal_models=False)


def audited(graph: SensitiveGraph) -> Tensor:
    """Rows of the test people by id, as an audit has them."""
    rows = graph.test_mask.nonzero()[:, 0]
    return rows[graph.node_id[rows].argsort()]


def moved(graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
    """The world by the equation."""
    x = graph.x + (sens - graph.sens)[:, None] * SLOPES
    x[:, 0] = sens
    return graph.replace(x=x, sens=sens)


def whole_worlds(graph: SensitiveGraph, draws: int = 3) -> dict[str, list[Tensor]]:
    """Everybody's age in each world: order statistics, and permutations."""
    ordered = sorted(graph.sens.tolist())
    at = {p: ordered[int(np.ceil(p * len(ordered))) - 1] for p in LEVELS}
    mixed = [assigned(graph, MIXED, draw=draw) for draw in range(draws)]
    return {
        **{f"quantile {p:g}": [torch.full_like(graph.sens, at[p])] for p in LEVELS},
        "mixed": mixed,
    }


def answers(model: Scores, graph: SensitiveGraph, sens: Tensor) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (model(moved(graph, sens)) > 0.5)[audited(graph).numpy()]
    return found


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


def bands(graph: SensitiveGraph) -> NDArray[np.int64]:
    """Everybody's fifth, by hand: how many of the four inner quintiles lie below."""
    ordered = np.sort(graph.sens.numpy())
    ends = [ordered[int(np.ceil(k / 5 * len(ordered))) - 1] for k in (1, 2, 3, 4)]
    found: NDArray[np.int64] = (graph.sens.numpy()[:, None] > ends).sum(axis=1)
    return found


def interval(flips: NDArray[Any], audit: Audit, among: NDArray[np.bool_]) -> Interval:
    people = audit.people[among]
    clusters, regions = people["community"].to_numpy(), people["region"].to_numpy()
    return rate_interval(flips, clusters, regions=regions)


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


def test_a_dose_moves_features_by_a_part(graph: SensitiveGraph, worlds: Worlds) -> None:
    found = fg.audit(everything, worlds, affected_people=0, probes=False)
    assert found.dose is not None
    assert found.causal_models is not None
    rows, before = audited(graph).numpy(), everything(graph) > 0.5
    for point in found.dose.points:
        rates = []
        for drawn in whole_worlds(graph).values():
            each = []
            for sens in drawn:
                x = graph.x + point.share * (sens - graph.sens)[:, None] * SLOPES
                x[:, 0] = sens
                there = everything(graph.replace(x=x, sens=sens)) > 0.5
                each.append((there != before)[rows].mean())
            rates.append(np.mean(each))
        assert point.rate == pytest.approx(np.mean(rates))
    alone = next(row for row in found.causal_models.rows if row.model == "attribute only")
    assert alone.rate == pytest.approx(found.dose.points[0].rate)


def test_moved_people_are_credible_where_features_go_with_the_number() -> None:
    people = ages(1500)
    sens = assigned(people, MIXED)
    right = credibility(people, {0: moved(people, sens)})
    x = people.x.clone()
    x[:, 0] = sens
    still = credibility(people, {0: people.replace(x=x, sens=sens)})
    assert right.credible
    assert still.auroc > 0.65


def test_probes_find_out_who_reads_the_number(worlds: Worlds) -> None:
    def blind(graph: SensitiveGraph) -> NDArray[np.float64]:
        return torch.sigmoid(graph.x[:, 1]).numpy()

    read = [
        fg.audit(model, worlds, other_causal_models=False, affected_people=0).probes
        for model in (copies, blind)
    ]
    assert [one.sens for one in read if one is not None] == [True, False]


def test_the_page_says_what_it_is_about(audit: Audit, tmp_path: Path) -> None:
    audit.save(tmp_path)
    again = Audit.load(tmp_path)
    assert again.names == audit.names
    assert again.affected == audit.affected
    page, card = render_page(again), model_card(again)
    words = re.sub(r"\s+", " ", page)
    low = f"{audit.names.levels[0]:g}"
    for text in (
        "The ranges are fifths of the people in the graph, by their age",
        f"Everybody&#39;s age is {low}, which 5% of the people do not exceed.",
        "everybody&#39;s age is that of five quantiles in turn, or somebody else&#39;s",
        f"age {audit.names.groups[0]}",
        "From range to range",
        "links within a range",
        "In the world with most changes",
    ):
        assert text in words, text
    assert "set to each of five of its quantiles" in card
    assert f"age {audit.names.groups[4]}" in card
    for text in ("group 0", "half and half", "to 0, to 1"):
        assert text not in page
        assert text not in card


def test_scores_that_return_from_elsewhere_give_the_same_audit(
    graph: SensitiveGraph, worlds: Worlds, audit: Audit, tmp_path: Path
) -> None:
    manifest = export_worlds(worlds, tmp_path, self_people=len(audit.people), format="npz")
    for entry in manifest.worlds:
        held = np.load(tmp_path / entry.path)
        world = graph.replace(
            x=torch.from_numpy(held["x"]),
            edge_index=torch.from_numpy(held["edge_index"]),
            sens=torch.from_numpy(held["sens"]),
        )
        place = (tmp_path / entry.scores).with_suffix(".npy")
        place.parent.mkdir(exist_ok=True)
        np.save(place, everything(world))
    assert {e.intervention for e in manifest.worlds} >= {f"quantile {p:g}" for p in LEVELS}
    found = fg.audit(FolderAdapter(tmp_path), worlds, other_causal_models=False)
    assert found.metrics == pytest.approx(audit.metrics, nan_ok=True)


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


def test_two_models_are_compared_by_range(worlds: Worlds, audit: Audit) -> None:
    other = fg.audit(cleared, worlds, other_causal_models=False, affected_people=0)
    found = {row.metric: row for row in audit.compare(other).rows}
    for name in ("accuracy", "f1", "auroc", "delta_dp", "delta_eo", "r2", "delta_cf"):
        row = found[name]
        assert row.first == pytest.approx(audit.metrics[name])
        assert row.second == pytest.approx(other.metrics[name])
        assert row.first - row.second in row.interval, name
    assert found["delta_cf"].better == "second"
    assert found["r2"].better == "second"


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


def test_a_model_is_asked_as_often_as_the_page_says(worlds: Worlds) -> None:
    asked = []

    def constant(graph: SensitiveGraph) -> NDArray[np.float64]:
        asked.append(graph)
        return np.full(len(graph.x), 0.7)

    fg.audit(constant, worlds, self_people=0, other_causal_models=False)
    assert len(asked) == 19


class Lines(FeatureModel):
    """Moves every column by its least-squares slope on the number."""

    name = "lines"
    how = "along straight lines"

    def fit(
        self,
        table: NDArray[np.float64],
        sens: NDArray[Any],
        columns: Columns,
        people: NDArray[np.bool_] | None = None,
    ) -> Lines:
        among = np.ones(len(sens), dtype=bool) if people is None else people
        centred = sens[among] - sens[among].mean()
        self.slopes = centred @ table[among] / (centred @ centred)
        self._columns = columns
        return self

    def moved(
        self,
        table: NDArray[np.float64],
        before: NDArray[Any],
        after: NDArray[Any],
        node_id: Tensor,
        *,
        seed: int,
    ) -> NDArray[np.float64]:
        found: NDArray[np.float64] = table + (after - before)[:, None] * self.slopes
        found[:, 0] = after
        return found

    def _learn(self, table: Any, cells: Any) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def _rows(self, old: Any, before: Any, after: Any, noise: Any) -> NDArray[np.float64]:
        raise NotImplementedError


def test_the_family_asks_other_feature_models(
    graph: SensitiveGraph, worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "FEATURE_MODELS", {"lines": Lines})
    monkeypatch.setattr(family, "feature_model", lambda name: Lines())
    mine = Worlds(graph, Slope().fit(graph))
    found = fg.audit(everything, mine, affected_people=0, probes=False).causal_models
    assert found is not None
    rows = {row.model: row for row in found.rows}
    learners = ~(graph.train_mask | graph.val_mask)
    assert mine.people is None or torch.equal(mine.people, learners)
    learners = torch.ones_like(learners) if mine.people is None else learners
    years = graph.sens[learners] - graph.sens[learners].mean()
    slopes = years @ graph.x[learners] / (years @ years)
    before, rates = everything(graph) > 0.5, []
    for drawn in whole_worlds(graph).values():
        each = []
        for sens in drawn:
            x = graph.x + (sens - graph.sens)[:, None] * slopes
            x[:, 0] = sens
            there = everything(graph.replace(x=x, sens=sens)) > 0.5
            each.append((there != before)[audited(graph).numpy()].mean())
        rates.append(np.mean(each))
    assert rows["lines"].rate == pytest.approx(np.mean(rates))
    assert 0 < found.rows[1].credibility.unsteadiness < 1  # type: ignore[union-attr]
    assert {row.model for row in found.rows} == {"own", "lines", "attribute only"}


def test_predictions_have_everybodys_range(graph: SensitiveGraph, tmp_path: Path) -> None:
    old = (graph.sens > 45).long()
    x = graph.x.clone()
    x[:, 0] = old
    two = graph.replace(x=x, sens=old, sens_kind="binary", attributes=None)
    model = METHODS["logistic"]().fit(two)
    found = fg.audit(model, Worlds(graph, Slope()), other_causal_models=False, affected_people=0)
    write_predictions(tmp_path / "people.parquet", model, graph, found)
    table = pd.read_parquet(tmp_path / "people.parquet")
    assert np.array_equal(table["node_id"], graph.node_id)
    assert np.array_equal(table["sens"], graph.sens)
    assert np.array_equal(table["band"], bands(graph))
    measured = table.set_index("node_id").loc[found.people["node_id"]]
    assert np.array_equal(measured["other_sens"], found.people["other_sens"])

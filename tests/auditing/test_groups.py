"""The table by group against counts by hand, SciPy and scikit-learn."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from sklearn.metrics import roc_auc_score

from fairgear.auditing import Audit, audit
from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.groups import (
    UNKNOWN,
    GroupSummary,
    GroupTables,
    group_tables,
    reference_group,
    summarise_groups,
)
from fairgear.auditing.people import People
from fairgear.auditing.records import from_json
from fairgear.files import json_ready
from fairgear.graph.attributes import Attribute, Attributes
from fairgear.graph.targets import Target
from fairgear.metrics import Interval, rate_interval
from fairgear.metrics.disagreement import Disagreement
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.ratios import ratio_interval
from tests.auditing.models import small_graph

SHARES = ["selection_rate", "true_positive_rate", "false_positive_rate", "accuracy", "delta_cf"]
Columns = tuple[Integers, Integers, Integers, Integers, Floats]


def people(n: int, seed: int) -> Columns:
    """y (some unknown), labels, sens, communities and flip shares of some people."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-1, 2, n),
        rng.integers(0, 2, n),
        rng.integers(0, 2, n),
        rng.integers(0, 5, n),
        rng.choice([0.0, 1 / 3, 1.0], n),
    )


def known(y: Integers, sens: Integers, clusters: Integers) -> People:
    return People(y, sens, clusters, clusters, around=np.zeros(len(y)))


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


@given(st.integers(1, 30), st.integers(0, 10**6))
def test_shares_by_loops(n: int, seed: int) -> None:
    y, labels, sens, clusters, flips = people(n, seed)
    found = summarise_groups(known(y, sens, clusters), labels, flips, level=0.9)
    assert [group.group for group in found] == [0, 1]
    for group in found:
        members = [i for i in range(n) if sens[i] == group.group]
        labelled = [i for i in members if y[i] >= 0]
        positive = [i for i in members if y[i] == 1]
        negative = [i for i in members if y[i] == 0]
        assert (group.unlabelled, group.negatives) == (len(members) - len(labelled), len(negative))
        assert (group.count, group.labelled, group.positives) == (
            len(members),
            len(labelled),
            len(positive),
        )
        assert group.selected == sum(int(labels[i]) for i in members)
        expected = {
            "selection_rate": mean([float(labels[i]) for i in members]),
            "true_positive_rate": mean([float(labels[i]) for i in positive]),
            "false_positive_rate": mean([float(labels[i]) for i in negative]),
            "accuracy": mean([float(labels[i] == y[i]) for i in labelled]),
            "delta_cf": mean([float(flips[i]) for i in members]),
        }
        for name, value in expected.items():
            got, interval = getattr(group, name), group.intervals[name]
            assert got == pytest.approx(value, nan_ok=True)
            assert interval.defined != math.isnan(value)
            assert math.isnan(value) or interval.low - 1e-9 <= got <= interval.high + 1e-9


def test_the_interval_is_that_of_the_members_in_their_communities() -> None:
    y, labels, sens, clusters, flips = people(200, 1)
    for level in (0.5, 0.95):
        (_, one) = summarise_groups(known(y, sens, clusters), labels, flips, level=level)
        member = sens == 1
        assert one.intervals["delta_cf"] == rate_interval(
            flips[member], clusters[member], level=level
        )


def test_without_flips_their_share_is_undefined() -> None:
    y, labels, sens, clusters, _ = people(40, 2)
    for group in summarise_groups(known(y, sens, clusters), labels, None, level=0.95):
        assert math.isnan(group.delta_cf)
        assert not group.intervals["delta_cf"].defined
        assert group.intervals["accuracy"].defined


def test_to_json_and_back() -> None:
    y, labels, _, clusters, flips = people(20, 3)
    everyone = summarise_groups(known(y, np.ones(20, int), clusters), labels, flips, level=0.95)
    for group in everyone:
        text = json.dumps(json_ready(group), allow_nan=False)
        found = json.loads(text)
        assert set(found["intervals"]) == {*SHARES, "auroc", "impact_ratio"}
        assert json.dumps(json_ready(from_json(GroupSummary, found)), allow_nan=False) == text
    nobody, all_of_them = everyone
    assert nobody.count == 0
    assert math.isnan(from_json(GroupSummary, json_ready(nobody)).accuracy)
    assert from_json(GroupSummary, json_ready(all_of_them)) == all_of_them


def test_auroc_by_group_is_that_of_scikit_learn() -> None:
    y, labels, sens, clusters, flips = people(200, 4)
    scores = np.random.default_rng(0).random(200).round(2)
    found = summarise_groups(known(y, sens, clusters), labels, flips, level=0.9, scores=scores)
    for group in found:
        among = (sens == group.group) & (y >= 0)
        assert group.auroc == pytest.approx(roc_auc_score(y[among], scores[among]))
        assert group.auroc in group.intervals["auroc"]
        assert group.people("auroc") == among.sum()


def test_impact_ratios_are_to_the_highest_rate() -> None:
    rng = np.random.default_rng(1)
    sens = np.repeat([0, 1, 2], [300, 300, 100])
    labels = (rng.random(700) < np.array([0.3, 0.6, 0.2])[sens]).astype(np.int64)
    clusters = np.arange(700)
    found = summarise_groups(known(labels, sens, clusters), labels, None, level=0.95)
    highest = found[1]
    assert reference_group(found) == highest
    assert highest.impact_ratio == 1
    assert highest.intervals["impact_ratio"] == Interval(1, 1)
    for one in (found[0], found[2]):
        ratio = labels[sens == one.group].mean() / labels[sens == 1].mean()
        assert one.impact_ratio == pytest.approx(ratio)
        rates = one.intervals["selection_rate"], highest.intervals["selection_rate"]
        assert one.intervals["impact_ratio"] == ratio_interval(
            one.selection_rate, rates[0], highest.selection_rate, rates[1]
        )


def test_a_very_small_group_is_shown_but_is_not_the_reference() -> None:
    sens = np.repeat([0, 1, 2], [500, 500, 3])
    labels = np.concatenate([np.arange(500) % 2, np.arange(500) % 4 == 0, [1, 1, 1]]).astype(int)
    found = summarise_groups(known(labels, sens, np.arange(1003)), labels, None, level=0.95)
    assert [one.impact_ratio for one in found] == [1, 0.5, 2]
    assert found[2].intervals["impact_ratio"].defined


def test_nobody_selected_has_no_impact_ratio() -> None:
    y = np.zeros(20, dtype=np.int64)
    for one in summarise_groups(known(y, np.arange(20) % 2, y), y, None, level=0.95):
        assert one.selection_rate == 0
        assert math.isnan(one.impact_ratio)


CROSSED = Attributes(
    (Attribute("race", ("a", "b", "c")), Attribute("sex", ("f", "m"))),
    ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0)),
)


def crossed_tables(
    told: NDArray[np.bool_] | None = None,
) -> tuple[People, Predictions, GroupTables]:
    rng = np.random.default_rng(5)
    n = 400
    sens = rng.integers(0, 5, n)
    y, scores = rng.integers(-1, 2, n), rng.random(n)
    of = replace(known(y, sens, np.arange(n)), around=np.zeros((n, 4)))
    answers = Predictions(scores, (scores > 0.5).astype(np.int64))
    tables = group_tables(
        of,
        answers,
        rng.random(n),
        attributes=CROSSED,
        known=told,
        level=0.95,
        seed=0,
    )
    return of, answers, tables


def test_crossed_attributes_have_a_line_for_each_value_of_each() -> None:
    of, answers, tables = crossed_tables()
    assert [one.group for one in tables.groups] == [0, 1, 2, 3, 4]
    cells = np.array(CROSSED.groups)[of.sens]
    expected = [("race", 0, 3), ("sex", 1, 2)]
    lines = iter(tables.margins)
    for name, place, values in expected:
        for value in range(values):
            line, member = next(lines), cells[:, place] == value
            assert (line.attribute, line.group, line.count) == (name, value, member.sum())
            assert line.selection_rate == pytest.approx(answers.labels[member].mean())
            assert line.impact_ratio <= 1
    assert next(lines, None) is None
    assert [test.attribute for test in tables.tests] == ["", "race", "sex"]


def test_people_of_unknown_attribute_are_a_line_and_not_in_the_tests() -> None:
    told = np.arange(400) % 4 > 0
    of, answers, tables = crossed_tables(told)
    line = tables.margins[-1]
    assert (line.group, line.attribute, line.count) == (UNKNOWN, "", 100)
    assert line.selection_rate == pytest.approx(answers.labels[~told].mean())
    assert math.isnan(line.impact_ratio)
    table = [
        [(answers.labels[told & (of.sens == group)] == label).sum() for group in range(5)]
        for label in (0, 1)
    ]
    oracle = chi2_contingency(table, correction=False)
    # Communities of one person: all that is left is the allowance for estimating that.
    assert 0.92 * oracle.statistic < tables.tests[0].statistic < oracle.statistic
    assert tables.tests[0].degrees == oracle.dof


def test_several_classes_and_numbers_have_no_impact_ratio() -> None:
    classes, number = Target("multiclass", ("x", "y", "z")), Target("regression", ())
    rng = np.random.default_rng(7)
    sens = rng.integers(0, 3, 90)
    for target in (classes, number):
        labels: NDArray[Any] = rng.integers(0, 3, 90)
        if target is number:
            labels = rng.normal(size=90)
        scores = rng.dirichlet(np.ones(3), 90) if target is classes else labels
        answers = Predictions(scores, labels, Disagreement(target))
        tables = group_tables(
            known(labels, sens, np.arange(90)),
            answers,
            None,
            attributes=None,
            known=None,
            level=0.95,
            seed=0,
        )
        assert tables.tests == ()
        for one in tables.groups:
            assert math.isnan(one.impact_ratio)
            assert math.isnan(one.auroc)
            assert len(one.figures) == 3


def test_an_audit_of_crossed_attributes_keeps_them(tmp_path: Path) -> None:
    sens = torch.arange(150) % 5
    torch.manual_seed(0)
    graph = small_graph(150).replace(
        mechanism=None,
        x=torch.rand(150, 1),
        feature_names=["x"],
        sens=sens,
        attributes=CROSSED,
        sens_column=None,
        raw=None,
    )
    found = audit(
        lambda graph: graph.x[:, 0],
        graph,
        threshold=0.5,
        nodes=torch.arange(150),
        draws=1,
        self_people=0,
        affected_people=0,
        other_causal_models=False,
    )
    assert found.names.attributes == CROSSED.each
    assert found.names.cells == CROSSED.groups
    found.save(tmp_path)
    again = Audit.load(tmp_path)
    assert (again.names, again.margins) == (found.names, found.margins)
    assert again.rate_tests == found.rate_tests
    rows = again.to_frame()
    parts = rows[rows["part"] == "margin"].set_index("name")
    member = found.people["sens"].isin([1, 3])
    assert parts.loc["sex 1 selection_rate", "people"] == member.sum() == 60
    expected = found.people.loc[member, "label"].mean()
    assert parts.loc["sex 1 selection_rate", "value"] == pytest.approx(expected)
    table = again.ll144().set_index("category")
    assert table.loc["m", "selection_rate"] == pytest.approx(expected)

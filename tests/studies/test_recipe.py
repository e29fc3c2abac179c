"""Recipes: every line can be run, names fit together, and the paper's figures are the paper's."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from fairgear.datasets.source import GraphSource
from fairgear.errors import UnknownNameError
from fairgear.methods import METHODS
from fairgear.metrics import METRICS
from fairgear.studies.published import published, published_statistics
from fairgear.studies.recipe import NAMES, Line, Recipe, read_recipe, read_yaml

EVERY = [(name, quick) for name in NAMES for quick in (False, True)]
# What the paper's text says that it uses where nothing is varied.
PAPER = {"λ": 0.6, "λₛ": 0.4, "k": 20, "C": 2}
SETTINGS = {"λ": "fairness_weight", "λₛ": "neighbor_weight", "k": "k", "C": "neighbor_draws"}
# The most that a quick run may train.
QUICK = {"steps": 40, "generator.steps": 40, "estimator_steps": 40, "trees": 50}


def settings(line: Line) -> dict[str, Any]:
    """All settings of the method that a line builds, in one level: `generator.steps`."""
    made: Any = METHODS[line.entry.method](**line.entry.config(GraphSource(), 0).settings)
    found: dict[str, Any] = {}
    for name, value in made.config.to_dict().items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        found |= {f"{name}.{part}".rstrip("."): one for part, one in inner}
    return found


def line(plan: Recipe, name: str) -> Line:
    (found,) = (one for one in plan.lines if one.name == name)
    return found


@pytest.mark.parametrize(("name", "quick"), EVERY)
def test_every_line_builds_a_method_and_all_names_are_known(name: str, quick: bool) -> None:
    plan = read_recipe(name, quick=quick)
    assert plan.name == name
    assert plan.title
    names = [one.name for one in plan.lines]
    assert len(set(names)) == len(names)
    assert bool(names) == (name != "table1")
    for one in plan.lines:
        assert settings(one)
    told = {*names}
    for claim in plan.claims:
        assert claim.test in ("best", "comparable")
        assert claim.against
        assert told >= {*claim.subjects, *claim.against}
        assert not {*claim.subjects} & {*claim.against}
        assert {*METRICS} >= {*claim.metrics}
    families = {one.family for one in plan.lines}
    for trend in plan.trends:
        assert trend.sweep in families
        assert {*METRICS} >= {*trend.metrics}


@pytest.mark.parametrize("name", ["table2", "table3", "tableS1"])
def test_every_line_of_the_papers_table_is_there_under_its_name(name: str) -> None:
    plan = read_recipe(name)
    theirs = published(plan.published)
    ours = {one.published for one in plan.lines} - {""}
    assert ours == {*theirs["method"]}
    assert [*plan.datasets] == [*dict.fromkeys(theirs["dataset"])]


def test_other_recipes_have_no_published_figures() -> None:
    for name in ("table1", "figure5", "tradeoff"):
        plan = read_recipe(name)
        assert plan.published == ""
        # Claims are held against published deviations; a plan without them has none.
        assert plan.claims == ()


def test_points_of_curves_have_the_value_they_say() -> None:
    dials = {one["family"]: one["setting"] for one in read_yaml("tradeoff")["dials"]}
    for name, names in (("figure5", SETTINGS), ("tradeoff", dials)):
        for quick in (False, True):
            points = [one for one in read_recipe(name, quick=quick).lines if one.family]
            assert {one.family for one in points} == {*names}
            for one in points:
                assert settings(one)[names[one.family]] == one.value, one.name


def test_the_papers_own_value_is_marked_once_on_each_curve() -> None:
    marked = [one for one in read_recipe("figure5").lines if one.own]
    assert {one.family: one.value for one in marked} == PAPER
    assert len(marked) == len(PAPER)
    assert {one.entry.label for one in marked} == {"gear-paper"}
    assert all(math.isnan(one.value) for one in read_recipe("table2").lines)


def test_the_same_run_in_two_figures_has_one_label() -> None:
    assert line(read_recipe("figure5"), "λ = 0.6").entry.label == "gear-paper"
    assert line(read_recipe("figure5"), "λ = 0.2").entry.label == "gear-paper:fairness_weight=0.2"
    gear = [one for one in read_recipe("tradeoff").lines if one.family == "GEAR"]
    labels = {one.value: one.entry.label for one in gear}
    assert (labels[0.6], labels[0]) == ("gear-paper", "gear-paper:fairness_weight=0")
    assert line(read_recipe("table2"), "GEAR").entry.label == "gear-paper"


@pytest.mark.parametrize("quick", [False, True])
def test_a_figure_of_curves_has_each_run_once_and_all_of_table_2(quick: bool) -> None:
    plan = read_recipe("tradeoff", quick=quick)
    labels = [one.entry.label for one in plan.lines]
    assert len(set(labels)) == len(labels)
    table = {one.entry.label: one.name for one in read_recipe("table2", quick=quick).lines}
    assert {*labels} >= {*table}
    for one in plan.lines:
        assert table.get(one.entry.label, one.name) == one.name, "one run, one name"


@pytest.mark.parametrize("quick", [False, True])
def test_what_is_built_alike_is_labelled_alike_and_the_other_way_round(quick: bool) -> None:
    by_settings: dict[str, str] = {}
    by_label: dict[str, str] = {}
    for name in NAMES:
        for one in read_recipe(name, quick=quick).lines:
            key = json.dumps([one.entry.method, settings(one)], sort_keys=True)
            assert by_settings.setdefault(key, one.entry.label) == one.entry.label
            assert by_label.setdefault(one.entry.label, key) == key


def test_quick_lines_train_little_and_are_otherwise_the_same() -> None:
    shorter = 0
    for name in NAMES:
        full = {one.name: one for one in read_recipe(name).lines}
        for one in read_recipe(name, quick=True).lines:
            short, long = settings(one), settings(full[one.name])
            trained = {key: short[key] for key in QUICK if key in short}
            assert trained == {key: QUICK[key] for key in trained}, one.name
            assert one.entry.method.startswith("logistic") or trained
            changed = {key for key in short if short[key] != long[key]}
            assert changed <= {*QUICK, "dim"}
            shorter += bool(changed)
            assert (one.published, one.own) == (full[one.name].published, full[one.name].own)
    assert shorter > 30


def test_quick_settings_are_those_of_methods_that_are_there() -> None:
    for method in read_yaml("quick"):
        assert method in METHODS
    gear = settings(line(read_recipe("table2", quick=True), "GEAR"))
    assert gear["dim"] == 64


def test_an_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(UnknownNameError, match="unknown table or figure") as refused:
        read_recipe("table4")
    assert all(name in str(refused.value) for name in NAMES)


# Copied from the paper by hand: table, dataset, method, metric, mean, deviation.
CELLS = [
    ("table2", "synthetic", "GCN", "accuracy", 0.686, 0.015),
    ("table2", "synthetic", "C-ENC", "delta_cf_released", 0.633, 0.013),
    ("table2", "bail", "GraphSAGE", "auroc", 0.905, 0.021),
    ("table2", "bail", "GEAR", "r2", 0.038, 0.012),
    ("table2", "bail", "NIFTY-SAGE", "f1", 0.723, 0.103),
    ("table2", "credit", "FairGNN", "delta_eo", 0.175, 0.035),
    ("table2", "credit", "GEAR", "delta_dp", 0.104, 0.013),
    ("table3", "synthetic", "GEAR-NP", "delta_cf_released", 0.012, 0.005),
    ("table3", "bail", "GEAR", "r2", 0.049, 0.012),
    ("table3", "credit", "GEAR-NN", "delta_cf_released", 0.020, 0.047),
    ("tableS1", "bail", "GEAR-Infomax", "auroc", 0.814, 0.034),
    ("tableS1", "credit", "GEAR-JK", "r2", 0.008, 0.002),
]
# Sums over all tables, from another copy of the figures: no cell can change without notice.
MEANS = {
    "accuracy": (40.406, 1.258),
    "f1": (40.944, 1.420),
    "auroc": (42.240, 1.067),
    "delta_eo": (3.203, 1.565),
    "delta_dp": (4.306, 1.611),
    "delta_cf_released": (3.439, 1.056),
    "r2": (1.759, 0.736),
}


def test_published_figures_are_the_papers() -> None:
    for table, dataset, method, metric, mean, std in CELLS:
        found = published(table)
        (cell,) = found[
            (found.dataset == dataset) & (found.method == method) & (found.metric == metric)
        ].to_dict("records")
        assert (cell["published"], cell["published_std"]) == (mean, std), (table, method, metric)


def test_no_published_figure_is_missing_or_changed() -> None:
    tables = [published(name) for name in ("table2", "table3", "tableS1")]
    assert [len(one) for one in tables] == [7 * 24, 7 * 15, 7 * 15]
    assert all(one.notna().all(axis=None) for one in tables)
    for metric, sums in MEANS.items():
        parts = [one[one.metric == metric] for one in tables]
        found = [sum(part[name].sum() for part in parts) for name in ("published", "published_std")]
        assert found == pytest.approx(sums, abs=1e-9), metric


def test_statistics_are_those_of_table_1() -> None:
    assert published_statistics().to_dict("list") == {
        "dataset": ["synthetic", "bail", "credit"],
        "nodes": [2000, 18876, 30000],
        "edges": [4120, 311870, 137377],
        "features": [26, 18, 13],
        "average_degree": [5.120, 34.044, 10.158],
        "intra_group_edges": [2379, 162821, 120750],
        "inter_group_edges": [1741, 149049, 16627],
    }

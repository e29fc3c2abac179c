"""The recipe: equal rules, settings that methods accept, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.datasets import DATASETS
from fairgear.errors import FairgearError, FileError, ParameterError
from fairgear.methods import METHODS
from fairgear.runs.config import merged
from fairgear.studies.judging.bounds import Reference, read_bounds
from fairgear.studies.judging.plan import ACCURATE, CHOSEN, RECIPE, Contestant, Dimension, Plan
from tests.studies.judging.toy import toy_plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.read()


def test_every_method_of_the_recipe_can_be_built(plan: Plan) -> None:
    for one in plan.methods.values():
        assert one.problem == ""
    known = plan.only()
    assert known == plan
    # Judging is of two groups and two classes.
    assert set(plan.datasets) == set(DATASETS) - {"meps-expenses"}
    methods = {one.method for one in known.methods.values()}
    wanted = {"gear", "graphsage", "gcn", "nifty-sage", "c-enc", "fairgnn", "logistic", "boosting"}
    assert wanted <= methods


def test_rules_are_equal(plan: Plan) -> None:
    assert plan.trials == 40
    assert plan.final_seeds == (0, 1, 2, 3, 4)
    assert set(plan.curve_seeds) <= set(plan.final_seeds)
    for one in plan.only().methods.values():
        settings = one.settings({each.name: each.ends()[0] for each in one.space})
        assert settings["threshold"] == "validation"
        if one.method != "gear":
            assert settings["ranks"] is True
            assert settings.get("use_sens", True) is True
        # FairGNN knows as much of s as the others do.
        assert settings.get("known_sens", 0) == 0


def test_dials_turn_a_searched_setting(plan: Plan) -> None:
    for one in plan.methods.values():
        assert one.dial.setting in {each.name for each in one.space}
        assert len(set(one.dial.values)) == len(one.dial.values) >= 4
    gear = plan.methods["GEAR"]
    assert gear.dial.setting == "fairness_weight"
    points = gear.points({"fairness_weight": 2.0, "dim": 64}, {"dim": 16})
    assert points[CHOSEN] == {"fairness_weight": 2.0, "dim": 64}
    assert points[ACCURATE] == {"dim": 16}
    assert points["fairness_weight=0"] == {"fairness_weight": 0.0, "dim": 64}


def test_floors_have_the_space_of_gear_without_what_they_do_not_use(plan: Plan) -> None:
    gear = plan.methods["GEAR"]
    unused = {
        "GEAR, mlp": {"edge_noise", "layers"},
        "GEAR, linear": {"edge_noise", "layers", "dropout"},
    }
    for name, without in unused.items():
        floor = plan.methods[name]
        assert floor.space == tuple(one for one in gear.space if one.name not in without)
        assert len(gear.space) - len(floor.space) == len(without)
        assert (floor.fixed, floor.dial) == (gear.fixed, gear.dial)
        assert not floor.reads_graph
    assert gear.reads_graph
    assert not plan.methods["boosted trees"].reads_graph


def test_bounds_name_what_the_recipe_has(plan: Plan) -> None:
    for bound in read_bounds():
        assert bound.dataset in plan.datasets
        assert bound.method in plan.methods
        if isinstance(bound.limit, Reference):
            one = plan.methods[bound.limit.method]
            assert bound.limit.point in one.points({}, {})


def test_settings_are_searched_within_those_of_the_method() -> None:
    one = toy_plan().methods["plain"]
    assert one.settings({"C": 2.0}) == merged(
        METHODS["logistic"].config_type().to_dict(), {"C": 2.0, "threshold": "validation"}
    )
    assert one.build({"C": 2.0, "ranks": True}, 7, "cpu").get_params() == {
        "seed": 7,
        "device": "cpu",
        "C": 2.0,
        "ranks": True,
        "threshold": "validation",
    }
    nested = replace(one, entry="gear-paper:generator.latent=8", fixed={"generator.steps": 5})
    found = nested.settings({"generator.hidden": 16})["generator"]
    assert (found["steps"], found["hidden"], found["latent"]) == (5, 16, 8)


@pytest.mark.parametrize(
    "values",
    [
        {"name": "C"},
        {"name": "C", "low": 1},
        {"name": "C", "low": 1, "high": 2, "choices": [1]},
        {"name": "C", "high": 2, "choices": [1]},
    ],
)
def test_a_searched_setting_has_a_range_or_choices(values: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="searched setting C"):
        Dimension.read(values)


def test_what_this_version_does_not_have_is_left_out_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    common = {"space": [{"name": "C", "choices": [1.0]}], "dial": {"setting": "C", "values": [1]}}
    absent = Contestant.read({"name": "new", "entry": "logistic:wonder=1", **common})
    gone = Contestant.read({"name": "gone", "entry": "no-method", **common})
    plan = toy_plan()
    plan = replace(
        plan,
        methods={**plan.methods, "new": absent, "gone": gone},
        inner_seeds={"synthetic": (0,), "no-data": (0,)},
    )
    found = plan.only()
    assert list(found.methods) == ["plain", "residual"]
    assert found.datasets == ("synthetic",)
    said = capsys.readouterr().err
    assert "the method new is left out" in said
    assert "the dataset no-data is left out" in said
    assert "synthetic" in DATASETS


def test_parts_are_chosen_by_name_or_entry() -> None:
    plan = replace(toy_plan(), inner_seeds={"synthetic": (0,), "nba": (0,)})
    assert plan.only(["nba"]).datasets == ("nba",)
    assert list(plan.only(methods=["logistic"]).methods) == ["plain"]
    assert list(plan.only(methods=["residual"]).methods) == ["residual"]
    for wanted in (plan.only, lambda **given: plan.only(given["methods"])):
        with pytest.raises(FairgearError, match="to judge: got 'nobody'"):
            wanted(methods=["nobody"])


def test_a_fingerprint_follows_what_decides_trials() -> None:
    plan = replace(toy_plan(), inner_seeds={"synthetic": (0,)})
    first = plan.fingerprint("synthetic", "plain")
    assert first == replace(plan, trials=99).fingerprint("synthetic", "plain")
    one = plan.methods["plain"]
    for changed in (
        replace(plan, seed=1),
        replace(plan, inner_seeds={"synthetic": (1,)}),
        replace(plan, search_draws=2),
        replace(plan, methods={"plain": replace(one, fixed={})}),
        replace(plan, methods={"plain": replace(one, space=one.space[:1])}),
    ):
        assert changed.fingerprint("synthetic", "plain") != first


def test_a_damaged_recipe_is_refused(tmp_path: Path) -> None:
    values = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    path = tmp_path / "recipe.yaml"
    for broken in (
        {key: values[key] for key in values if key != "methods"},
        {**values, "unknown": 1},
        {**values, "methods": [{"name": "x"}]},
    ):
        path.write_text(yaml.safe_dump(broken), encoding="utf-8")
        with pytest.raises(FileError, match="correct the file"):
            Plan.read(path)
    with pytest.raises(FileError, match="check the path"):
        Plan.read(tmp_path / "none.yaml")

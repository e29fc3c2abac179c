from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from fairgear.errors import ParameterError
from fairgear.methods import GearConfig, GeneratorConfig
from fairgear.methods.gear.config import (
    FEW_LABELS,
    FLEXIBLE,
    FLEXIBLE_MANY,
    REGULARISED,
    Recipe,
)
from fairgear.settings import Config, OneOf, Range, settings_of


@pytest.mark.parametrize("kind", [GearConfig, GeneratorConfig])
def test_an_unknown_key_is_refused_with_the_known_ones(kind: type[Config]) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]*'stepz'[^\n]*allowed: [^\n]*steps[^\n]*$"):
        kind.from_dict({"stepz": 3})


def test_an_unknown_nested_key_is_refused() -> None:
    with pytest.raises(ParameterError, match="settings of GeneratorConfig"):
        GearConfig.from_dict({"generator": {"stepz": 3}})


def limits(kind: type[Config]) -> dict[str, Range | OneOf]:
    return {name: one.limit for name, one in settings_of(kind).items() if one.limit is not None}


def outside(kind: type[Config]) -> list[tuple[type[Config], str, Any]]:
    cases: list[tuple[type[Config], str, Any]] = []
    for name, allowed in limits(kind).items():
        if isinstance(allowed[0], str):
            cases += [(kind, name, "nosuch"), (kind, name, 3)]
        else:
            low, high = map(float, allowed)
            cases += [(kind, name, low - 1), (kind, name, math.nan), (kind, name, "3")]
            cases += [(kind, name, high + 1)] if math.isfinite(high) else []
    return cases


@pytest.mark.parametrize(("kind", "name", "value"), outside(GearConfig) + outside(GeneratorConfig))
def test_a_value_out_of_range_is_refused_in_one_line(
    kind: type[Config], name: str, value: Any
) -> None:
    with pytest.raises(ParameterError) as caught:
        kind.from_dict({name: value})
    line = str(caught.value)
    allowed = limits(kind)[name]
    assert "\n" not in line
    assert f"setting {name}: got {value!r}" in line
    assert str(allowed[0]) in line
    assert str(allowed[-1]) in line


@pytest.mark.parametrize("kind", [GearConfig, GeneratorConfig])
def test_the_ends_of_every_range_are_allowed(kind: type[Config]) -> None:
    for name, allowed in limits(kind).items():
        for value in allowed:
            if isinstance(value, str) or math.isfinite(value):
                assert getattr(kind.from_dict({name: value}), name) == value


def test_every_number_and_name_has_a_limit() -> None:
    for kind in (GearConfig, GeneratorConfig, Recipe):
        without = {name for name, one in settings_of(kind).items() if one.kind is bool}
        without |= {"generator", "recipe"} if kind is GearConfig else set()
        assert {item.name for item in fields(kind)} - without == set(limits(kind))


def test_two_recipes_are_trained_with_few_labels_and_one_with_many() -> None:
    config = GearConfig()
    few = (REGULARISED, FLEXIBLE)
    assert config.recipes(FEW_LABELS) == few
    assert config.recipes(FEW_LABELS + 1) == (FLEXIBLE_MANY,)
    own = GearConfig(steps=7, threshold="half", recipe={"dropout": 0.1, "row_norm": False})
    for labels, recipes in ((100, few), (10_000, (FLEXIBLE_MANY,))):
        expected = [
            replace(recipe, dropout=0.1, steps=7, row_norm=False, threshold="half")
            for recipe in recipes
        ]
        assert list(own.recipes(labels)) == expected


def test_settings_go_before_overrides_of_recipes() -> None:
    config = GearConfig(steps=7, recipe={"steps": 9})
    assert {recipe.steps for recipe in config.recipes(100)} == {7}


def test_unit_rows_are_for_the_value_of_erase_that_serves_both_protocols() -> None:
    assert [recipe.row_norm for recipe in GearConfig().recipes(100)] == [False, True]
    for erase in (0.0, 0.5, None):
        assert not any(recipe.row_norm for recipe in GearConfig(erase=erase).recipes(100))
        config = GearConfig(erase=erase, recipe={"row_norm": True})
        assert all(recipe.row_norm for recipe in config.recipes(100))


@pytest.mark.parametrize("value", ["0.5", True, math.nan, -1])
def test_an_open_setting_takes_none_or_its_own_kind(value: object) -> None:
    assert GearConfig(logit_weight=None).logit_weight is None
    with pytest.raises(ParameterError, match="setting logit_weight"):
        GearConfig.from_dict({"logit_weight": value})


def test_settings_go_through_json_and_back() -> None:
    config = GearConfig(k=7, erase=0.25, generator=GeneratorConfig(steps=3, latent=2))
    values = json.loads(json.dumps(config.to_dict()))
    assert values["generator"]["steps"] == 3
    back = GearConfig.from_dict(values)
    assert back == config
    assert isinstance(back.generator, GeneratorConfig)
    assert GearConfig.from_dict({"generator": {"steps": 3}}).generator.hidden == 64


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        GearConfig().k = 3  # type: ignore[misc]  # that it is refused is the test


@pytest.mark.parametrize(
    ("variant", "own", "around", "generator"),
    [
        ("full", True, True, True),
        ("ns", False, True, True),
        ("nn", True, False, True),
        ("np", False, False, False),
        ("nc", True, True, False),
    ],
)
def test_a_variant_leaves_out_what_its_name_says(
    variant: str, own: bool, around: bool, generator: bool
) -> None:
    config = GearConfig(variant=variant)
    assert (config.perturbs_self, config.perturbs_neighbors) == (own, around)
    assert config.uses_vae == generator
    effective = config.effective()
    if not generator:
        assert all(recipe.use_sens for recipe in effective.recipes(100))
        assert effective.erase is None
    else:
        assert effective == config


def test_reading_settings_imports_no_torch() -> None:
    code = (
        "import sys, fairgear.methods.gear.config; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numba', 'sklearn', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from fairgear.errors import ParameterError
from fairgear.methods import GearPaperConfig
from fairgear.methods.ego_settings import ALPHA
from fairgear.methods.gear_paper.config import (
    DROPOUT,
    LAYERS,
    VALIDATE_EVERY,
    WEIGHT_DECAY,
    VaeConfig,
)
from fairgear.settings import Config, OneOf, Range, settings_of

# Written down from the paper, section by section.
PAPER = {
    "encoder": "graphsage",
    "variant": "full",
    "k": 20,
    "dim": 1024,
    "fairness_weight": 0.6,
    "neighbor_weight": 0.4,
    "neighbor_draws": 2,
    "learning_rate": 0.001,
    "steps": 1000,
    "batch_size": 100,
    "threshold": "half",
}
PAPER_GENERATOR = {"discriminator_weight": 10.0, "ranges": 4}


def test_the_defaults_are_the_papers() -> None:
    config = GearPaperConfig()
    assert {name: getattr(config, name) for name in PAPER} == PAPER
    assert (ALPHA, LAYERS, DROPOUT, WEIGHT_DECAY) == (0.15, 2, 0.5, 1e-5)
    generator = {name: getattr(config.generator, name) for name in PAPER_GENERATOR}
    assert generator == PAPER_GENERATOR


@pytest.mark.parametrize(("labels", "batch", "parts"), [(100, 100, 1), (101, 100, 2), (7, 3, 3)])
def test_an_epoch_is_a_pass_over_the_labelled_people(labels: int, batch: int, parts: int) -> None:
    config = GearPaperConfig(epochs=5, steps=3, batch_size=batch)
    assert config.training_steps(labels) == 5 * parts
    assert config.validate_every(labels) == VALIDATE_EVERY
    assert config.validate_every(50 * batch) == 50
    without = GearPaperConfig(steps=3, batch_size=batch)
    assert without.training_steps(labels) == 3
    assert without.validate_every(50 * batch) == VALIDATE_EVERY


@pytest.mark.parametrize("kind", [GearPaperConfig, VaeConfig])
def test_an_unknown_key_is_refused_with_the_known_ones(kind: type[Config]) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]*'stepz'[^\n]*allowed: [^\n]*steps[^\n]*$"):
        kind.from_dict({"stepz": 3})


def test_an_unknown_nested_key_is_refused() -> None:
    with pytest.raises(ParameterError, match="settings of VaeConfig"):
        GearPaperConfig.from_dict({"generator": {"stepz": 3}})


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


@pytest.mark.parametrize(("kind", "name", "value"), outside(GearPaperConfig) + outside(VaeConfig))
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


@pytest.mark.parametrize("kind", [GearPaperConfig, VaeConfig])
def test_the_ends_of_every_range_are_allowed(kind: type[Config]) -> None:
    for name, allowed in limits(kind).items():
        for value in allowed:
            if isinstance(value, str) or math.isfinite(value):
                assert getattr(kind.from_dict({name: value}), name) == value


def test_every_number_and_name_has_a_limit() -> None:
    for kind in (GearPaperConfig, VaeConfig):
        without = {name for name, one in settings_of(kind).items() if one.kind is bool}
        without |= {"generator"} if kind is GearPaperConfig else set()
        assert {item.name for item in fields(kind)} - without == set(limits(kind))


@pytest.mark.parametrize("value", ["0.5", True, math.nan, -1])
def test_an_open_setting_takes_none_or_its_own_kind(value: object) -> None:
    assert GearPaperConfig(epochs=None).epochs is None
    with pytest.raises(ParameterError, match="setting epochs"):
        GearPaperConfig.from_dict({"epochs": value})


def test_settings_go_through_json_and_back() -> None:
    config = GearPaperConfig(k=7, epochs=4, generator=VaeConfig(steps=3, latent=2))
    values = json.loads(json.dumps(config.to_dict()))
    assert values["generator"]["steps"] == 3
    back = GearPaperConfig.from_dict(values)
    assert back == config
    assert isinstance(back.generator, VaeConfig)
    assert GearPaperConfig.from_dict({"generator": {"steps": 3}}).generator.hidden == 64


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        GearPaperConfig().k = 3  # type: ignore[misc]  # that it is refused is the test


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
    config = GearPaperConfig(variant=variant)
    assert (config.perturbs_self, config.perturbs_neighbors) == (own, around)
    assert config.uses_vae == generator


def test_reading_settings_imports_no_torch() -> None:
    code = (
        "import sys, fairgear.methods.gear_paper.config; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numba', 'sklearn', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields

import pytest

from fairgear.causal import FEATURE_MODELS
from fairgear.methods import GearConfig
from fairgear.methods.gear.config import FAMILY, WITHOUT_GRAPH
from fairgear.methods.gear.network import LAYERS
from fairgear.settings import OneOf, settings_of


def test_every_number_and_name_has_a_limit() -> None:
    limited = {name for name, one in settings_of(GearConfig).items() if one.limit is not None}
    # Any file may be a diagram; whether a name is known is looked at in the fit.
    assert {item.name for item in fields(GearConfig)} - limited == {"causal", "views"}


def test_settings_go_through_json_and_back() -> None:
    for config in (GearConfig(), GearConfig(causal="shift", r2_limit=0.1, batch_size=7)):
        assert GearConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_names_are_those_of_models_and_encoders() -> None:
    assert set(FAMILY) <= set(FEATURE_MODELS)
    encoders = settings_of(GearConfig)["encoder"].limit
    assert isinstance(encoders, OneOf)
    assert set(encoders) - set(WITHOUT_GRAPH) == set(LAYERS)


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "mlp", "linear"])
def test_encoders_read_the_graph_or_a_person_alone(encoder: str) -> None:
    assert GearConfig(encoder=encoder).reads_graph == (encoder not in ("mlp", "linear"))


def test_reading_settings_imports_no_torch() -> None:
    code = (
        "import sys, fairgear.methods.gear.config; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numba', 'sklearn', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

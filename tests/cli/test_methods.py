"""`fairgear methods`, and runs of methods other than gear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.methods import METHODS


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_every_method_is_listed_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "list", "--json"]) == 0
    listed = printed(capsys)["methods"]
    assert [one["name"] for one in listed] == list(METHODS)
    assert all(one["summary"].endswith(".") for one in listed)
    assert main(["methods", "list"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in METHODS)


def test_every_setting_of_every_method_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for name in METHODS:
        assert main(["methods", "show", name, "--json"]) == 0
        settings = printed(capsys)["settings"]
        assert settings, name
        assert all(one["meaning"] and one["allowed"] for one in settings.values()), name


def test_settings_of_gear_are_shown_with_default_range_and_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["methods", "show", "gear", "--json"]) == 0
    settings = printed(capsys)["settings"]
    assert settings["layers"] == {
        "default": 2,
        "allowed": "a whole number from 1 to 16",
        "meaning": "Of the encoder: how many hops it sees.",
    }
    assert settings["r2_limit"]["allowed"] == "labels or a number from 0 to 1"
    assert len(settings) <= 15
    assert main(["methods", "show", "gear-paper", "--json"]) == 0
    settings = printed(capsys)["settings"]
    assert settings["epochs"]["allowed"] == "a whole number from 1 to 1000000 or none"
    assert settings["generator.steps"]["default"] == 1000


def test_an_unknown_method_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "show", "nosuch"]) == 2
    assert "logistic" in capsys.readouterr().err


def test_a_run_of_another_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    typed = ["run", "synthetic", "--method", "logistic", "--set", "C=0.5", "--quick"]
    typed += ["--out", str(out)]
    assert main([*typed, "--json"]) == 0
    results = printed(capsys)
    assert (results["config"]["method"], results["config"]["settings"]["C"]) == ("logistic", 0.5)
    assert yaml.safe_load((out / "config.yaml").read_text()) == results["config"]
    assert results["diagnostics"]["model"] == "synthetic"
    assert "logistic" in (out / "report.html").read_text()
    # The same command again, and the settings file that it left, mean the same run.
    for again in (typed, ["run", "--config", str(out / "config.yaml"), "--out", str(out)]):
        assert main([*again, "--json"]) == 0
        assert printed(capsys)["metrics"] == results["metrics"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--set", "C=1"], "got the unknown key 'C'"),
        (["--method", "logistic", "--set", "C"], "--set: got 'C'; allowed: NAME=VALUE"),
        (["--method", "logistic", "--set", "=1"], "--set: got '=1'"),
        (["--method", "logistic", "--set", "C=[1"], "--set: got 'C=[1'"),
        (["--method", "logistic", "--set", "D=1"], "got the unknown key 'D'"),
        (["--method", "logistic", "--set", "C=high"], "setting C: got 'high'"),
        (["--set", "generator=5", "--set", "generator.steps=5"], "--set: got 'generator.steps=5'"),
        (["--method", "logistic", "--set", "seed=1"], "use --seed of fairgear run"),
    ],
)
def test_settings_of_the_wrong_kind(
    typed: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *typed, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

"""`fairgear tune`: in other processes, resumed, and a command that runs as it is printed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.runs.config import read_yaml
from fairgear.studies.judging import sampler
from tests.graph.people import FRIENDS, PEOPLE

RECIPE = {
    "methods": [
        {
            "name": "regression",
            "entry": "logistic",
            "space": [{"name": "C", "low": 0.001, "high": 100.0, "log": True}],
            "dial": {"setting": "C", "values": [1.0]},
        }
    ]
}


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for path in (PEOPLE, FRIENDS):
        shutil.copy(path, tmp_path)
    Path("recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    columns = ["--label", "approved", "--sensitive", "sex", "--edges", "friends.csv"]
    search = ["--method", "logistic", "--recipe", "recipe.yaml", "--device", "cpu"]
    return ["tune", "people.csv", *columns, *search, "--trials", "2", "--seed", "1"]


def table(path: Path) -> list[str]:
    """The rows without their seconds, which stand last."""
    return [line.rpartition(",")[0] for line in path.read_text().splitlines()]


def test_two_processes_give_what_one_gives_and_the_command_runs(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--jobs", "2", "--out", "two", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert main([*words, "--jobs", "1", "--out", "one"]) == 0
    told = capsys.readouterr().out
    assert table(Path("one/trials.csv")) == table(Path("two/trials.csv"))
    command = found["chosen"]["command"]
    assert command in told
    assert command.startswith("fairgear run people.csv --label approved")
    assert "run it once" in told
    assert [one["name"] for one in found["floors"]] == ["logistic-residual", "boosting"]
    page = Path("two/tuning.html").read_text(encoding="utf-8")
    for one in (found["default"], *found["floors"], *found["trials"]):
        assert f'title="{one["name"]}: AUROC {one["utility"]:.3f}' in page
    assert "://" not in page
    # Again: shown from the rows, without work.
    os.remove("two/tuning.html")
    assert main([*words, "--jobs", "0", "--out", "two", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert Path("two/tuning.html").read_text(encoding="utf-8") == page
    # With a smaller audit.
    assert main([*shlex.split(command)[1:], "--quick", "--out", "run"]) == 0
    config = read_yaml(Path("run/config.yaml"))
    for name, value in found["chosen"]["settings"].items():
        assert config["settings"][name] == value


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--trials", "0"], "--trials: got 0"),
        (["--halves", "3"], "--halves: got 3"),
        (["--max-loss", "2"], "--max-loss: got 2"),
        (["--jobs", "-1"], "--jobs: got -1"),
        (["--method", "gear"], "method to tune with recipe.yaml: got 'gear'; allowed: logistic"),
        (["--recipe", "none.yaml"], "settings file none.yaml"),
        (["--sensitive", "age_of_death"], "age_of_death"),
    ],
)
def test_what_is_refused_is_said_in_one_line(
    more: list[str], expected: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = list(words)
    if more[0] in kept:
        at = kept.index(more[0])
        del kept[at : at + 2]
    assert main([*kept, *more, "--out", "out"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert expected in told.err.splitlines()[-1]
    assert not Path("out").exists()


def test_without_optuna_the_extra_is_named(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sampler, "find_spec", lambda name: None)
    assert main([*words, "--out", "out"]) == 2
    assert "pip install 'fairgear[tune]'" in capsys.readouterr().err


def test_a_recipe_of_another_shape_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("recipe.yaml").write_text("methods: [{name: a}]\n")
    assert main([*words, "--out", "out"]) == 2
    assert "recipe recipe.yaml: got KeyError" in capsys.readouterr().err

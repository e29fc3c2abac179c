from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import fairgear as fg
from fairgear.cli import main
from fairgear.experiments.run_config import RunConfig
from fairgear.metrics import METRICS
from fairgear.training.checkpoints import read_tensors, write_tensors


def small(steps: int, generator_steps: int) -> list[str]:
    """Flags for a model of 8 dimensions."""
    flags = {"--gear.dim": 8, "--gear.k": 6, "--gear.validate-every": 10, "--device": "cpu"}
    flags |= {"--gear.steps": steps, "--gear.generator.steps": generator_steps}
    return [str(word) for pair in flags.items() for word in pair]


def run(*arguments: str, out: Path) -> int:
    return main(["run", *arguments, *small(30, 15), "--out", str(out)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "one"
    assert run(out=out) == 0
    return out


def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "metrics.json").read_text())
    return read


def test_a_run_leaves_what_it_says(finished: Path) -> None:
    names = {"config.yaml", "metrics.json", "predictions.parquet", "model", "report.html"}
    assert {entry.name for entry in finished.iterdir()} == names
    read = results(finished)
    assert list(read["metrics"]) == list(METRICS)
    assert list(read["intervals"]) == list(METRICS)
    for key, value in read["metrics"].items():
        low, high = read["intervals"][key]
        assert (value is None) == (low is None), key
        assert value is None or low - 1e-9 <= value <= high + 1e-9, key
    assert read["metrics"]["auroc"] is not None
    assert read["metrics"]["delta_cf"] is not None
    assert {"version", "seed", "data_sha256", "platform", "stages"} <= read["provenance"].keys()
    assert [s["stage"] for s in read["provenance"]["stages"]] == [
        "loading the graph",
        "training",
        "evaluation",
    ]
    assert read["config"] == yaml.safe_load((finished / "config.yaml").read_text())
    people = pd.read_parquet(finished / "predictions.parquet")
    assert len(people) == 2000
    assert people.split.value_counts().to_dict() == {"train": 1200, "val": 400, "test": 400}
    assert "Are people treated alike?" in (finished / "report.html").read_text()


def test_the_saved_model_gives_the_predictions_again(finished: Path) -> None:
    people = pd.read_parquet(finished / "predictions.parquet")
    graph = fg.datasets.load("synthetic")
    scores = fg.load_model(finished / "model").predict_proba(graph)[:, 1]
    assert np.array_equal(scores, people.score.to_numpy())


def test_json_is_all_there_is_on_stdout_and_a_finished_run_is_not_run_again(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (finished / "metrics.json").stat().st_mtime_ns
    assert run("--json", out=finished) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == results(finished)
    assert "nothing to do" in captured.err
    assert (finished / "metrics.json").stat().st_mtime_ns == before


def test_the_settings_of_a_run_give_the_same_run(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    assert main(["run", "--config", str(finished / "config.yaml"), "--out", str(out)]) == 0
    assert results(out)["metrics"] == results(finished)["metrics"]


def test_other_seeds_are_other_runs(finished: Path, tmp_path: Path) -> None:
    assert run("--seed", "1", out=tmp_path / "seed") == 0
    assert run("--graph-seed", "1", out=tmp_path / "graph") == 0
    hashes = {
        results(out)["provenance"]["data_sha256"]
        for out in (finished, tmp_path / "seed", tmp_path / "graph")
    }
    assert len(hashes) == 3


def test_presets_and_flags_lie_over_each_other() -> None:
    paper = RunConfig.from_dict({"preset": "paper", "gear": {"k": 30}})
    assert (paper.gear.dim, paper.gear.k, paper.gear.generator.discriminator_weight) == (
        1024,
        30,
        10,
    )
    again = RunConfig.from_dict(paper.to_dict())
    assert again == paper


def test_report_and_embed(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(finished), "--out", str(page)]) == 0
    assert page.read_text() == (finished / "report.html").read_text()
    model = str(finished / "model")
    assert main(["embed", model, "synthetic", "--out", str(tmp_path / "z.parquet")]) == 0
    assert main(["embed", model, "--out", str(tmp_path / "z.npy")]) == 0
    table, matrix = pd.read_parquet(tmp_path / "z.parquet"), np.load(tmp_path / "z.npy")
    assert table.node_id.tolist() == list(range(2000))
    assert np.array_equal(table.drop(columns="node_id").to_numpy(), matrix)
    assert matrix.shape == (2000, 8)


def bad_settings(folder: Path, text: str) -> str:
    path = folder / "settings.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nosuch"], "'nosuch'; allowed: synthetic"),
        (["--method", "nosuch"], "'nosuch'; allowed: gear"),
        (["--split", "nosuch"], "sixty-twenty-twenty, released"),
        (["--preset", "nosuch"], "default, paper"),
        (["--device", "nosuch"], "auto, cpu, cuda"),
        (["--seed", "x"], "--seed"),
        (["--seed", "-1"], "setting seed"),
        (["--gear.k", "65"], "setting k: got 65"),
        (["--gear.encoder", "nosuch"], "graphsage, gcn"),
        (["--gear.generator.steps", "0"], "setting steps"),
        (["--gear.nosuch", "1"], "--gear.nosuch"),
        (["--config", "nosuch.yaml"], "settings file nosuch.yaml"),
    ],
)
def test_bad_input_is_one_line_status_2_and_leaves_nothing(
    arguments: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["run", *arguments, "--out", str(out)]) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert named in line
    assert "Next:" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sed: 1", "unknown key 'sed'"),
        ("gear: {kk: 1}", "unknown key 'kk'"),
        ("gear: 3", "setting gear"),
        ("- 1", "a list"),
        ("a: [", "no valid YAML"),
        ("seed: 1.5", "setting seed"),
    ],
)
def test_a_bad_settings_file_is_one_line(
    text: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bad_settings(tmp_path, text)
    assert main(["run", "--config", path, "--out", str(tmp_path / "out")]) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_places_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    for out in (file, file / "below", foreign):
        assert run(out=out) == 2
        assert "folder" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]


def test_another_runs_folder_is_refused_and_says_what_differs(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--seed", "5", out=finished) == 2
    assert "seed was 0, now 5" in capsys.readouterr().err


class Evil:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_checkpoints_that_are_not_ours_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def stop(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fairgear.methods.gear.GearTask.step", stop)
        assert run(out=out) == 1
    assert "goes on from here" in capsys.readouterr().err
    checkpoint = out / "checkpoint" / "generator.safetensors"
    tensors, facts = read_tensors(checkpoint)
    misshapen = {"vae.feature_shift": tensors["vae.feature_shift"][:1]}
    write_tensors(checkpoint, tensors | misshapen, facts)
    assert run(out=out) == 2
    assert "shape" in capsys.readouterr().err.strip().splitlines()[-1]
    checkpoint.write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    assert run(out=out) == 2
    assert "no safetensors file of fairgear" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "evil").exists()


def test_a_run_killed_at_five_moments_ends_as_one_that_was_not(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairgear", "run", *small(700, 200)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    begin = time.monotonic()
    whole = [*command, "--out", str(tmp_path / "whole")]
    subprocess.run(whole, check=True, capture_output=True, env=environment)
    length = time.monotonic() - begin
    killed = [*command, "--out", str(tmp_path / "killed")]
    moments = np.random.default_rng().uniform(0.2, 0.9, 5)
    for moment in moments:
        process = subprocess.Popen(
            killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        try:
            process.wait(timeout=moment * length)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    subprocess.run(killed, check=True, capture_output=True, env=environment)
    one, other = results(tmp_path / "whole"), results(tmp_path / "killed")
    assert one["metrics"] == other["metrics"], moments
    assert one["intervals"] == other["intervals"], moments
    assert one["details"]["history"] == other["details"]["history"], moments
    left = {entry.name for entry in (tmp_path / "killed").iterdir()}
    assert left >= {"config.yaml", "metrics.json", "predictions.parquet", "model", "report.html"}

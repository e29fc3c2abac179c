from __future__ import annotations

import json
import os
import pickle
import pkgutil
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from torch import Tensor

import fairgear as fg
from fairgear.cli import main
from fairgear.files import TEMPORARY
from fairgear.methods import METHODS, GearConfig, GearPaperConfig
from fairgear.methods.gear.config import VALIDATE_EVERY
from fairgear.methods.gear.training import GearTask
from fairgear.metrics import METRICS
from fairgear.report.sections.training import _CAPTIONS
from fairgear.runs.config import RunConfig
from fairgear.runs.folder import RunFolder
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import checkpoints
from tests.cli.audits import UNUSUAL
from tests.processes import exit_code


def small(steps: int) -> list[str]:
    """Flags for a model of 8 dimensions."""
    settings = {"dim": 8, "steps": steps}
    typed = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return [*typed, "--device", "cpu"]


def run(*arguments: str, out: Path) -> int:
    return main(["run", *arguments, *small(30), "--quick", "--out", str(out)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "one"
    assert run(out=out) == 0
    return out


def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "audit.json").read_text())
    return read


def test_a_run_leaves_what_it_says(finished: Path) -> None:
    names = {
        *("config.yaml", "audit.json", "people.parquet", "predictions.parquet"),
        *("model", "report.html", "model-card.md", "people.csv", "SHA256SUMS"),
    }
    assert {entry.name for entry in finished.iterdir()} == names
    read = results(finished)
    usual = [name for name in METRICS if name not in UNUSUAL]
    assert list(read["metrics"]) == list(read["intervals"]) == usual
    for key, value in read["metrics"].items():
        low, high = read["intervals"][key]
        assert (value is None) == (low is None), key
        assert value is None or low - 1e-9 <= value <= high + 1e-9, key
    assert read["metrics"]["auroc"] is not None
    assert read["metrics"]["delta_cf"] is not None
    provenance = {"version", "seed", "graph_fingerprint", "platform", "stages", "files", "command"}
    assert provenance <= read["provenance"].keys()
    assert [s["stage"] for s in read["provenance"]["stages"]] == [
        "loading the graph",
        "training",
        "audit",
    ]
    assert read["config"] == yaml.safe_load((finished / "config.yaml").read_text())
    people = pd.read_parquet(finished / "predictions.parquet")
    assert len(people) == 2000
    assert people.split.value_counts().to_dict() == {"train": 1200, "val": 400, "test": 400}
    assert "How large that is" in (finished / "report.html").read_text()


def test_the_saved_model_gives_the_predictions_again(finished: Path) -> None:
    people = pd.read_parquet(finished / "predictions.parquet")
    graph = fg.datasets.load("synthetic")
    scores = fg.load_model(finished / "model").predict_proba(graph)[:, 1]
    assert np.array_equal(scores, people.score.to_numpy())


def test_json_is_all_there_is_on_stdout_and_a_finished_run_is_not_run_again(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (finished / "audit.json").stat().st_mtime_ns
    assert run("--json", out=finished) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == results(finished)
    assert "nothing to do" in captured.err
    assert (finished / "audit.json").stat().st_mtime_ns == before


def test_the_settings_of_a_run_give_the_same_run(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    assert main(["run", "--config", str(finished / "config.yaml"), "--out", str(out)]) == 0
    assert results(out)["metrics"] == results(finished)["metrics"]


def test_other_seeds_are_other_runs(finished: Path, tmp_path: Path) -> None:
    for name, typed in (("seed", "--seed"), ("graph", "--graph-seed")):
        words = ["--method", "logistic", "--quick", typed, "1", "--out", str(tmp_path / name)]
        assert main(["run", *words]) == 0
    hashes = {
        results(out)["provenance"]["graph_fingerprint"]
        for out in (finished, tmp_path / "seed", tmp_path / "graph")
    }
    assert len(hashes) == 3


def test_damaged_results_are_measured_again_and_leftovers_removed(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    before = results(out)["metrics"]
    left = out / f".metrics.a1b2.json{TEMPORARY}"
    for damage in ('{"metrics": {}, "intervals": {}, "config": {}}', "{"):
        (out / "audit.json").write_text(damage)
        assert RunFolder(out).results() is None
    left.write_text("half")
    assert run(out=out) == 0
    assert results(out)["metrics"] == before
    assert not left.exists()


def test_a_folder_with_nothing_but_leftovers_is_new(tmp_path: Path) -> None:
    (tmp_path / f".config.a1b2.yaml{TEMPORARY}").write_text("half")
    RunFolder(tmp_path).claim(RunConfig())
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.yaml"]


def test_the_page_explains_every_term_of_the_training(finished: Path) -> None:
    training = results(finished)["training"]
    history = training["history"]["network"]
    terms = {
        term
        for rows in (history["training"], history["validation"])
        for row in rows
        for term in row
    }
    assert terms - {"step"} == {
        *("prediction", "consistency", "dependence"),
        *("auroc", "flips", "score"),
    }
    assert terms - {"step"} <= set(_CAPTIONS)
    assert training["generator"] is None


def test_a_training_that_diverges_after_its_best_still_has_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = GearTask.step

    def diverging(self: GearTask, number: int) -> dict[str, Tensor]:
        terms = work(self, number)
        late = number > VALIDATE_EVERY
        return {name: part * float("nan") for name, part in terms.items()} if late else terms

    monkeypatch.setattr(GearTask, "step", diverging)
    out = tmp_path / "out"
    assert main(["run", *small(VALIDATE_EVERY + 10), "--quick", "--out", str(out)]) == 0
    last = results(out)["training"]["history"]["network"]["training"][-1]
    assert last["prediction"] is None


def settled(*typed: str, out: Path) -> RunConfig:
    """What a command comes to, without running it."""
    seen: list[RunConfig] = []

    def stub(config: RunConfig, folder: object) -> SimpleNamespace:
        seen.append(config)
        return SimpleNamespace(to_dict=dict)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairgear.runs.execution.run", stub)
        assert main(["run", "--json", *typed, "--out", str(out)]) == 0
    return seen[0]


def test_none_can_be_typed(tmp_path: Path) -> None:
    typed = ["--method", "gear-paper", "--set", "epochs=none", "--set", "fairness-weight=0.25"]
    expected = GearPaperConfig(epochs=None, fairness_weight=0.25).to_dict()
    assert settled(*typed, out=tmp_path / "out").settings == expected


def test_a_number_or_a_word_can_be_typed(tmp_path: Path) -> None:
    for typed, value in (("0.25", 0.25), ("labels", "labels")):
        found = settled("--set", f"r2-limit={typed}", out=tmp_path / "out")
        assert found.settings == GearConfig(r2_limit=value).to_dict()


def test_defaults_and_flags_lie_over_each_other() -> None:
    paper = RunConfig(method="gear-paper", settings={"k": 30}).completed()
    assert (paper.settings["dim"], paper.settings["k"]) == (1024, 30)
    assert paper.settings["generator"]["discriminator_weight"] == 10
    again = RunConfig.from_dict(paper.to_dict())
    assert again == paper == again.completed()


def test_another_method_drops_the_settings_of_the_file(finished: Path, tmp_path: Path) -> None:
    typed = ["--method", "logistic", "--config", str(finished / "config.yaml")]
    found = settled(*typed, out=tmp_path / "out")
    assert (found.method, found.settings) == (
        "logistic",
        METHODS["logistic"].config_type().to_dict(),
    )


def test_quick_limits_steps_and_audit_but_not_what_was_typed() -> None:
    assert RunConfig(quick=True).completed().settings["steps"] == 40
    typed = {"generator": {"steps": 60}}
    quick = RunConfig(quick=True, method="gear-paper", settings=typed).completed()
    assert (quick.settings["steps"], quick.settings["generator"]["steps"]) == (40, 60)
    assert (quick.self_people, quick.other_causal_models) == (50, False)
    fewer = RunConfig(quick=True, method="boosting").completed()
    assert fewer.settings["trees"] == 50


def test_report_and_embed(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(finished), "--out", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(page)}
    assert page.read_text() == (finished / "report.html").read_text()
    model = str(finished / "model")
    assert main(["embed", model, "synthetic", "--out", str(tmp_path / "z.parquet")]) == 0
    capsys.readouterr()
    assert main(["embed", model, "--out", str(tmp_path / "z.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == 8
    table, matrix = pd.read_parquet(tmp_path / "z.parquet"), np.load(tmp_path / "z.npy")
    assert table.node_id.tolist() == list(range(2000))
    assert np.array_equal(table.drop(columns="node_id").to_numpy(), matrix)
    assert matrix.shape == (2000, 8)


def test_report_and_embed_refuse_bad_input_in_one_line(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(finished / "model")
    for arguments in (
        ["report", str(tmp_path)],
        ["report", str(finished), "--out", str(tmp_path)],
        ["embed", str(tmp_path), "--out", str(tmp_path / "z.npy")],
        ["embed", model, "--out", str(tmp_path / "z.csv")],
        ["embed", model, "nosuch", "--out", str(tmp_path / "z.npy")],
        ["embed", model, "--graph-seed", "-1", "--out", str(tmp_path / "z.npy")],
        ["embed", model, "--device", "nosuch", "--out", str(tmp_path / "z.npy")],
    ):
        assert main(arguments) == 2, arguments
        assert capsys.readouterr().err.count("\n") == 1, arguments
    assert list(tmp_path.iterdir()) == []


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
        (["--preset", "paper"], "--preset"),
        (["--device", "nosuch"], "auto, cpu, cuda"),
        (["--seed", "x"], "--seed"),
        (["--seed", "-1"], "setting seed"),
        (["--set", "layers=17"], "setting layers: got 17"),
        (["--set", "encoder=nosuch"], "graphsage, gcn"),
        (["--method", "gear-paper", "--set", "generator.steps=0"], "setting steps"),
        (["--set", "nosuch=1"], "unknown key 'nosuch'"),
        (["--gear.k", "5"], "--gear.k"),
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
        ("settings: {kk: 1}", "unknown key 'kk'"),
        ("settings: 3", "setting settings"),
        ("- 1", "a list"),
        ("a: [", "no valid YAML"),
        ("seed: 1.5", "setting seed"),
        ("seed: 2020-13-45", "setting seed"),
        ("settings: {steps: 1" + 400 * "0" + "}", "a number of 401 characters"),
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
        patch.setattr("fairgear.methods.gear.estimator.Gear._set_threshold", stop)
        assert run(out=out) == 130
    assert capsys.readouterr().err.endswith("interrupted; the same command resumes\n")
    checkpoint = out / "checkpoint" / "network.safetensors"
    tensors, facts = read_tensors(checkpoint)
    misshapen = {"network.embed.weight": tensors["network.embed.weight"][:1]}
    write_tensors(checkpoint, tensors | misshapen, facts)
    assert run(out=out) == 2
    assert "shape" in capsys.readouterr().err.strip().splitlines()[-1]
    moments = {"optimizer.network.0.exp_avg": tensors["optimizer.network.0.exp_avg"][:1]}
    for damaged, said in ((tensors | moments, facts), (tensors, {"key": facts["key"]})):
        write_tensors(checkpoint, damaged, said)
        assert run(out=out) == 2
        assert "Traceback" not in capsys.readouterr().err
    checkpoint.write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    assert run(out=out) == 2
    assert "no safetensors file of fairgear" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "evil").exists()


def run_killed(moment: str, calls: int, typed: list[str]) -> None:
    """Save a checkpoint at every step, and die at a certain call of a function."""
    checkpoints._SECONDS_BETWEEN = checkpoints._TIMES_WRITING = 0.0
    place, _, name = moment.rpartition(".")
    owner = pkgutil.resolve_name(place)
    work, left = getattr(owner, name), iter(range(1, calls))

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*args, **kwargs)

    setattr(owner, name, deadly)
    main(typed)


def test_a_run_killed_at_three_moments_ends_as_one_that_was_not(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    typed = ["run", *small(30), "--quick", "--out", str(out)]

    def kill(moment: str, calls: int) -> None:
        assert exit_code(run_killed, moment, calls, typed) == -signal.SIGKILL

    def step() -> int:
        """The step that the checkpoint resumes from."""
        found: int = read_tensors(out / "checkpoint" / "network.safetensors")[1]["next_step"]
        return found

    kill("fairgear.methods.gear.training.GearTask.step", 9)
    assert step() == 8
    # Nine more checkpoints; the tenth is written but not named.
    kill("os.replace", 10)
    assert step() == 17
    assert len(list(out.rglob(f"*{TEMPORARY}"))) == 1
    kill("fairgear.runs.execution.audit", 1)
    assert {entry.name for entry in out.iterdir()} == {"config.yaml", "model", "checkpoint"}

    assert main(typed) == 0
    one, other = results(finished), results(out)
    assert one["metrics"] == other["metrics"]
    assert one["intervals"] == other["intervals"]
    assert one["training"]["history"] == other["training"]["history"]
    assert {entry.name for entry in out.iterdir()} == {entry.name for entry in finished.iterdir()}


CUSTOM = """
from fairgear.methods.baselines.tabular import Logistic

class Mine(Logistic):
    name = "mine"
"""


def test_a_quick_run_of_a_method_of_your_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "custom_method.py").write_text(CUSTOM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    typed = ["--method", "custom_method:Mine", "--set", "C=0.5", "--quick", "--json"]
    assert main(["run", *typed]) == 0
    found = json.loads(capsys.readouterr().out)
    folder = Path("runs") / "synthetic-custom_method-Mine-0"
    assert found["config"] == yaml.safe_load((folder / "config.yaml").read_text())
    assert (found["config"]["settings"]["C"], found["config"]["quick"]) == (0.5, True)
    assert found["notes"][0].startswith("This was a quick run")
    page = (folder / "report.html").read_text()
    assert page.index("This was a quick run") < page.index("Measured on")
    assert (found["setup"]["self_people"], found["causal_models"]) == (50, None)

"""`fairgear audit`, from what is typed to the files and the exit status that it leaves."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import AuditFolder
from fairgear.cli import main
from fairgear.metrics import METRICS
from tests.cli.test_run import small
from tests.graph.people import FRIENDS, PEOPLE, people

FILES = {"audit.json", "people.parquet", "audit.html", "model-card.md"}
# Little to do: one draw, two people alone, no other causal model.
QUICK = ["--draws", "1", "--self-people", "2", "--no-other-causal-models"]
COLUMNS = ["--label", "approved", "--sensitive", "sex"]
OWN = ["people.csv", *COLUMNS, "--edges", "friends.csv"]

MODELS = """
import torch

def features(graph):
    return torch.sigmoid(graph.x.double().sum(dim=1))

def copies(graph):
    return 0.1 + 0.8 * graph.sens.double()

def constant(graph):
    return torch.full((len(graph.x),), 0.7)

def logits(graph):
    return 9 * graph.x.double().sum(dim=1)

def short(graph):
    return constant(graph)[1:]

def missing(graph):
    return torch.where(torch.arange(len(graph.x)) % 9 > 0, 0.7, torch.nan)

def talks(graph):
    print("asked")
    return constant(graph)

def raises(graph):
    raise RuntimeError("it broke\\nhere")

def later(graph):
    if graph.sens.min() == graph.sens.max():
        raise RuntimeError("never seen")
    return constant(graph)

number = 3
"""

PROGRAM = """
import csv, math, sys, time

kind, graph = sys.argv[1:3]
if kind == "hangs":
    time.sleep(60)
if kind == "rubbish":
    print("Loading the model ...")
    sys.exit()
if kind == "fails":
    sys.exit("no weights")
with open(graph + "/nodes.csv") as file:
    rows = list(csv.reader(file))[1:]
if kind == "missing":
    rows = rows[:100]
with open(sys.argv[3], "w") as file:
    file.write("node_id,score\\n")
    for row in rows:
        total = sum(float(cell) for cell in row[2:])
        file.write("%s,%r\\n" % (row[0], 1 / (1 + math.exp(-total))))
"""


def command(kind: str) -> str:
    words = [sys.executable, "-I", "-S", "program.py", kind]
    return shlex.join(words) + " {graph} {scores}"


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Somebody's folder, with their models and their data; one is in it all the time."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "typed_models.py").write_text(MODELS)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "typed_exit.py").write_text("import sys; sys.exit('usage: f')")
    for path in (PEOPLE, FRIENDS):
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        yield folder
    sys.modules.pop("typed_models", None)


def audit(*typed: str, out: Path | str) -> int:
    return main(["audit", *typed, "--out", str(out)])


def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    return found


@pytest.fixture(scope="module")
def finished(here: Path) -> Path:
    """An audit of a function on the synthetic graph."""
    out = here / "finished"
    assert audit("typed_models:features", *QUICK, out=out) == 0
    return out


def test_it_leaves_what_it_says(finished: Path) -> None:
    assert {entry.name for entry in finished.iterdir()} == FILES
    found = results(finished)
    assert list(found["metrics"]) == list(found["intervals"]) == list(METRICS)
    assert found["model"]["name"] == "typed_models:features"
    assert found["model"]["kind"] == "Python callable"
    assert found["model"]["sight"] == {"sens": True, "graph": False, "repeats": True}
    settings = {"dataset": "synthetic", "people": 400, "draws": 1, "seed": 0, "self_people": 2}
    assert settings.items() <= found["config"].items()
    assert (found["comparison"], found["causal_models"]) == (None, None)
    assert {"version", "seed", "data_sha256", "stages"} <= found["provenance"].keys()
    table = pd.read_parquet(finished / "people.parquet")
    assert len(table) == 400
    read = AuditFolder(finished).read()
    assert read.metrics["delta_cf"] == found["metrics"]["delta_cf"] > 0
    assert (finished / "audit.html").read_text().rstrip().endswith("</html>")
    assert "400 people of synthetic" in (finished / "model-card.md").read_text()


def test_json_is_all_there_is_on_stdout(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit("typed_models:features", "synthetic", *QUICK, "--json", out=tmp_path) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == results(tmp_path)
    before = results(finished)
    for facts in (found, before):
        # When it was, and how long it took.
        del facts["provenance"]
    assert found == before


def test_a_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--draws", "1", "--self-people", "0", "--level", "0.9"]
    typed = ["typed_models:copies", *OWN, *few]
    assert audit(*typed, "--against", "typed_models:constant", out=tmp_path) == 0
    captured = capsys.readouterr().out
    for word in (
        "typed_models:copies on people, 80 people",
        "90 % interval",
        "1: typed_models:copies, 2: typed_models:constant",
        "δCF by causal model",
        "quantile",
        "The verdict hardly moves with the causal model",
        f"Report: {tmp_path / 'audit.html'} Model card: {tmp_path / 'model-card.md'}",
    ):
        assert word in " ".join(captured.split()), word


def test_the_usual_place(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "typed_models:constant", *QUICK, "--json"]) == 0
    assert [path.name for path in Path("audits").iterdir()] == ["synthetic-typed_models-constant"]


def test_against_another_model(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "both"
    typed = ["typed_models:copies", *QUICK, "--against", "typed_models:features", "--json"]
    assert audit(*typed, out=out) == 0
    found = json.loads(capsys.readouterr().out)
    assert {entry.name for entry in out.iterdir()} == {*FILES, "against"}
    assert {entry.name for entry in (out / "against").iterdir()} == FILES
    comparison = found["comparison"]
    assert (comparison["first"], comparison["second"]) == (
        "typed_models:copies",
        "typed_models:features",
    )
    other = results(out / "against")
    assert other["metrics"] == results(finished)["metrics"]
    rows = {row["metric"]: row for row in comparison["rows"]}
    for key, row in rows.items():
        assert row["first"] == pytest.approx(found["metrics"][key])
        assert row["second"] == pytest.approx(other["metrics"][key])
    assert rows["delta_dp"]["better"] == "second"


def test_the_same_place_again_with_one_model(tmp_path: Path) -> None:
    typed = ["typed_models:copies", *QUICK]
    assert audit(*typed, "--against", "typed_models:constant", out=tmp_path) == 0
    assert audit(*typed, out=tmp_path) == 0
    assert results(tmp_path)["comparison"] is None
    assert {entry.name for entry in tmp_path.iterdir()} == FILES


def test_a_file_of_ids_needs_no_ending(tmp_path: Path) -> None:
    Path("listed").write_text("\n".join(people().id.head(5)))
    typed = ["typed_models:copies", "people.csv", "--sensitive", "sex", "--edges", "friends.csv"]
    assert audit(*typed, *QUICK, "--nodes", "listed", out=tmp_path) == 0


def test_a_condition_that_holds_is_exit_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conditions = ["--fail-if", "delta_cf_self > 0.5", "--fail-if", "auroc.high < 0.3"]
    assert audit("typed_models:copies", *QUICK, *conditions, "--json", out=tmp_path) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out) == results(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == FILES
    said = [line for line in captured.err.splitlines() if line.startswith("fairgear: ")]
    (line,) = said
    assert line.startswith("fairgear: delta_cf_self is 1 (interval ")
    assert line.endswith("which is > 0.5.")
    passed = ["--fail-if", "delta_cf_self < 0.5", "--fail-if=delta_cf_neighbor>0.5"]
    assert audit("typed_models:copies", *QUICK, *passed, out=tmp_path) == 0


def test_what_was_not_measured_was_not_shown_to_be_all_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["typed_models:constant", *QUICK, "--fail-if", "r2 > 0.5"]
    assert audit(*typed, out=tmp_path) == 3
    assert "fairgear: r2 is undefined" in capsys.readouterr().err
    assert {entry.name for entry in tmp_path.iterdir()} == FILES


def test_a_command_is_the_model_that_it_runs(finished: Path, tmp_path: Path) -> None:
    few = [*QUICK, "--nodes", "nodes.txt"]
    table = pd.read_parquet(finished / "people.parquet")
    # Somebody without neighbours: nobody is asked about them, at a process each.
    alone = table[table["around"] == table["sens"]]["node_id"].head(3).tolist()
    Path("nodes.txt").write_text("\n".join(map(str, alone)))
    assert audit(command("scores"), *few, out=tmp_path / "command") == 0
    assert audit("typed_models:features", *few, out=tmp_path / "function") == 0
    one, other = (results(tmp_path / name) for name in ("command", "function"))
    assert one["model"]["kind"] == "command"
    assert one["config"] == other["config"]
    assert one["metrics"] == other["metrics"]
    assert one["intervals"] == other["intervals"]
    tables = [
        pd.read_parquet(tmp_path / name / "people.parquet") for name in ("command", "function")
    ]
    np.testing.assert_allclose(tables[0]["score"], tables[1]["score"], atol=1e-6)
    assert tables[0]["node_id"].tolist() == alone


@pytest.fixture(scope="module")
def exported(here: Path) -> Path:
    """Worlds that were exported and scored elsewhere."""
    folder = here / "worlds"
    assert main(["audit", "export", *QUICK, "--graph-format", "npz", "--out", "worlds"]) == 0
    (folder / "scores").mkdir()
    for entry in json.loads((folder / "manifest.json").read_text())["worlds"]:
        with np.load(folder / entry["path"]) as graph:
            scores = 1 / (1 + np.exp(-graph["x"].astype(np.float64).sum(axis=1)))
        np.save((folder / entry["scores"]).with_suffix(".npy"), scores)
    return folder


def test_exported_scored_and_audited(
    finished: Path, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "score", str(exported), "--name", "theirs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == results(exported / "audit")
    assert found["model"]["name"] == "theirs"
    assert found["model"]["kind"] == "folder of scores"
    direct = results(finished)
    assert found["config"] == direct["config"]
    assert found["metrics"] == direct["metrics"]
    assert found["intervals"] == direct["intervals"]
    assert found["model"]["sight"] == {"sens": True, "graph": False, "repeats": None}
    typed = ["audit", "score", str(exported), "--fail-if", "delta_cf > 0", "--out"]
    assert main([*typed, str(tmp_path / "out")]) == 3
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == FILES
    # With a threshold, scores may be any numbers; nobody is above this one.
    assert main(["audit", "score", str(exported), "--threshold", "2"]) == 0
    assert results(exported / "audit")["metrics"]["delta_cf"] == 0


def test_what_export_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["audit", "export", *OWN, *QUICK, "--out", str(tmp_path / "w")]
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    manifest = json.loads((tmp_path / "w" / "manifest.json").read_text())
    assert found == {"out": str(tmp_path / "w"), "graphs": len(manifest["worlds"])}
    assert main(typed) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert f"fairgear audit score {tmp_path / 'w'}" in said
    assert main(["audit", "export", *OWN, "--seed", "1", *QUICK, "--out", str(tmp_path / "w")]) == 2
    assert "worlds with another" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("gap", "1 of 15 score files missing, the first scores/strict-rate-1-draw-0.csv"),
        ("length", "float64 of shape (1999,)"),
        ("nan", "1 NaN or infinite scores, the first of node"),
        ("range", "scores from 0"),
        ("manifest", "no manifest.json of exported worlds"),
    ],
)
def test_scores_that_are_no_use(
    exported: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
    said: str,
) -> None:
    folder = tmp_path / "worlds"
    shutil.copytree(exported, folder, ignore=shutil.ignore_patterns("audit"))
    file = folder / "scores" / "strict-rate-1-draw-0.npy"
    scores = np.load(file)
    audited = json.loads((folder / "manifest.json").read_text())["audited"]
    if damage == "gap":
        file.unlink()
    elif damage == "length":
        np.save(file, scores[1:])
    elif damage == "nan":
        scores[audited[3]] = np.nan
        np.save(file, scores)
    elif damage == "range":
        np.save(file, scores * 7)
    else:
        (folder / "manifest.json").unlink()
    assert main(["audit", "score", str(folder)]) == 2
    refused(capsys, said)
    assert not (folder / "audit").exists()


def refused(capsys: pytest.CaptureFixture[str], said: str) -> None:
    """One line of ours, the last on stderr, and nothing on stdout."""
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line for line in lines if line.startswith("fairgear: ")] == lines[-1:]
    assert said in lines[-1]
    assert "Next:" in lines[-1]
    assert "Traceback" not in captured.err


# What is typed, and what the line must say.
BAD: dict[str, tuple[list[str], str]] = {
    "no model": (["nowhere"], "MODEL: got 'nowhere'"),
    "no module": (["nowhere:f"], "No module named 'nowhere'"),
    "no function": (["typed_models:f"], "has no attribute 'f'"),
    "no model at all": (["typed_models:number"], "a model to audit: got a int"),
    "wrong length": (["typed_models:short"], "got scores of shape (1999,)"),
    "nan": (["typed_models:missing"], "NaN or infinite scores, the first of node"),
    "ends the process": (["typed_exit:f"], "model typed_exit:f: got SystemExit"),
    "raises": (["typed_models:raises"], "'factual-unchanged-draw-0': got RuntimeError: it broke;"),
    "raises later": (["typed_models:later"], "got RuntimeError: never seen;"),
    "logits": (["typed_models:logits"], "allowed: 0 to 1, unless a threshold is given"),
    "hangs": ([command("hangs"), "--time-limit", "0.3"], "no end after 0.3 seconds"),
    "rubbish": ([command("rubbish")], "no file where {scores} is"),
    "rubbish on stdout": (
        [command("rubbish").removesuffix(" {scores}")],
        "got the line 'Loading the model ...'",
    ),
    "fails": ([command("fails")], "exit status 1: no weights"),
    "missing nodes": ([command("missing")], "got no score of"),
    "no program": (["/no/such/program {graph}"], "no such file or directory"),
    "graph format": ([command("scores"), "--graph-format", "xml"], "csv, parquet, npz"),
    "time limit": ([command("scores"), "--time-limit", "0"], "time_limit: got 0"),
    "against": (["typed_models:constant", "--against", "nowhere"], "MODEL: got 'nowhere'"),
    "against fails": (
        ["typed_models:constant", "--against", "typed_models:raises"],
        "'typed_models:raises' in the world",
    ),
    "condition": (["typed_models:constant", "--fail-if", "delta_cf"], "a condition: got"),
    "percentage": (["typed_models:constant", "--fail-if", "delta_cf > 5"], "write 5 % as 0.05"),
    "dataset": (["typed_models:constant", "synthetics"], "mean 'synthetic'"),
    "split": (["typed_models:constant", "--split", "half"], "sixty-twenty-twenty, released"),
    "nodes": (["typed_models:constant", "--nodes", "some"], "test, val, train, all, or a file"),
    "strange nodes": (["typed_models:constant", "--nodes", "strange.txt"], "the first '5000'"),
    "draws": (["typed_models:constant", "--draws", "0"], "setting draws"),
    "level": (["typed_models:constant", "--level", "95"], "setting level"),
    "self people": (["typed_models:constant", "--self-people", "-1"], "setting self_people"),
    "causal model": (["typed_models:constant", "--causal-model", "mine"], "--causal-model: got"),
    "threshold": (["typed_models:constant", "--threshold", "nan"], "threshold of"),
    "no number": (["typed_models:constant", "--threshold", "half"], "--threshold"),
    "unknown option": (["typed_models:constant", "--nosuch", "1"], "--nosuch"),
    "no edges": (["typed_models:constant", "people.csv", *COLUMNS], "neither edges nor"),
    "no label": (["typed_models:constant", "people.csv", *OWN[3:]], "--label: got none"),
    "columns": (["typed_models:constant", *COLUMNS], "--label: got the dataset 'synthetic'"),
}


@pytest.mark.parametrize(
    "case",
    BAD,
)
def test_bad_input_is_one_line_status_2_and_leaves_nothing(
    case: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("strange.txt").write_text("3\n5000\n")
    before = sorted(path.name for path in here.iterdir())
    typed, said = BAD[case]
    few = [] if "--draws" in typed or "--self-people" in typed else QUICK
    assert audit(*typed, *few, out="left") == 2
    refused(capsys, said)
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == [
        name for name in before if name != "__pycache__"
    ]


def test_other_peoples_folders_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    for out in (foreign, foreign / "thesis.txt", foreign / "thesis.txt" / "below"):
        assert audit("typed_models:constant", *QUICK, out=out) == 2
        refused(capsys, "folder" if out == foreign else "thesis.txt")
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]
    assert (foreign / "thesis.txt").read_text() == "mine"


def test_an_audit_that_fails_leaves_the_one_before(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert audit("typed_models:later", *QUICK, out=out) == 2
    refused(capsys, "never seen")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(("part", "count"), [("val", 400), ("train", 1200), ("all", 2000)])
def test_other_people(part: str, count: int, tmp_path: Path) -> None:
    assert audit("typed_models:constant", *QUICK, "--nodes", part, out=tmp_path) == 0
    assert results(tmp_path)["config"]["people"] == count


def test_own_data_in_their_own_words(tmp_path: Path) -> None:
    table = people()
    chosen = table.id.iloc[[5, 17, 80, 81, 200]].tolist()
    Path("names.txt").write_text("node_name\n" + "\n".join(reversed(chosen)))
    typed = ["typed_models:copies", *OWN, *QUICK, "--nodes", "names.txt"]
    assert audit(*typed, out=tmp_path) == 0
    found = results(tmp_path)
    assert found["config"]["dataset"] == "people"
    assert found["config"]["causal_model"] == "fitted"
    assert found["details"]["names"] == {"groups": ["female", "male"], "answers": ["no", "yes"]}
    assert pd.read_parquet(tmp_path / "people.parquet")["node_name"].tolist() == chosen
    assert {one["node_id"] for one in found["affected"]} <= set(chosen)
    page = (tmp_path / "audit.html").read_text()
    assert "female" in page


def test_own_data_without_labels(tmp_path: Path) -> None:
    typed = ["typed_models:copies", "people.csv", "--sensitive", "sex", "--edges", "friends.csv"]
    assert audit(*typed, *QUICK, "--nodes", "all", out=tmp_path) == 0
    found = results(tmp_path)
    assert found["metrics"]["accuracy"] is None
    assert found["metrics"]["delta_cf"] > 0
    assert found["config"]["people"] == 400


@pytest.fixture(scope="module")
def run(here: Path) -> Path:
    """A run on one's own data, with another seed than the usual one."""
    typed = [*OWN, "--seed", "3", *small(20, 10)]
    assert main(["run", *typed, "--out", "run"]) == 0
    return here / "run"


def test_a_run_is_audited_on_the_people_that_it_kept(run: Path, tmp_path: Path) -> None:
    """Without a word on data, split or seed: the audit finds them, and the run's own numbers."""
    assert audit("run", "--no-other-causal-models", out=tmp_path) == 0
    found = results(tmp_path)
    ran = json.loads((run / "metrics.json").read_text())
    assert (found["config"]["dataset"], found["config"]["seed"]) == ("people", 3)
    assert found["model"]["kind"] == "fairgear method"
    assert found["metrics"] == ran["metrics"]
    assert found["intervals"] == ran["intervals"]
    predicted = pd.read_parquet(run / "predictions.parquet")
    kept = predicted[predicted["split"] == "test"]
    table = pd.read_parquet(tmp_path / "people.parquet")
    assert table["node_name"].tolist() == kept["node_name"].tolist()
    assert np.array_equal(table["score"], kept["score"])


def test_a_saved_model_is_audited_on_what_is_named(run: Path, tmp_path: Path) -> None:
    typed = [str(run / "model"), *OWN, "--seed", "3", *QUICK]
    assert audit(*typed, out=tmp_path / "a") == 0
    assert audit("run", "--seed", "3", *QUICK, out=tmp_path / "b") == 0
    one, other = (results(tmp_path / name) for name in "ab")
    assert one["metrics"] == other["metrics"]
    assert audit("run", "--seed", "4", *QUICK, out=tmp_path / "c") == 0
    assert results(tmp_path / "c")["config"]["worlds"] != one["config"]["worlds"]


def test_a_saved_model_reads_other_people_as_its_own(run: Path, tmp_path: Path) -> None:
    """Read by itself, a table in which nobody has one of the jobs has a column less."""
    table = people()
    jobs = sorted(set(table.job))
    table[table.job != jobs[0]].to_csv("others.csv", index=False)
    typed = ["run", "others.csv", *COLUMNS, "--similarity", "0.7", "--nodes", "all", *QUICK]
    assert audit(*typed, out=tmp_path) == 0
    assert results(tmp_path)["config"]["people"] == int((table.job != jobs[0]).sum())


def test_a_run_against_a_function(run: Path, tmp_path: Path) -> None:
    assert audit("run", *QUICK, "--against", "typed_models:copies", out=tmp_path) == 0
    comparison = results(tmp_path)["comparison"]
    assert (comparison["first"], comparison["second"]) == ("run", "typed_models:copies")
    assert comparison["people"] == 80


def test_the_folder_of_a_run_is_no_place_for_an_audit(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in run.iterdir())
    assert audit("run", *QUICK, out=run) == 2
    refused(capsys, "other files in it")
    assert sorted(path.name for path in run.iterdir()) == before


def test_every_option_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import fields

    from fairgear.experiments.audit_config import AuditConfig

    main(["audit", "--help"])
    shown = capsys.readouterr().out
    for item in fields(AuditConfig):
        if item.name not in ("dataset", "data"):
            assert f"--{item.name.replace('_', '-')}" in shown
    for flag in ("--against", "--fail-if", "--threshold", "--time-limit", "--no-other-causal-mo"):
        assert flag in shown


def test_what_a_model_prints_is_not_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit("typed_models:talks", "synthetic", *QUICK, "--json", out=tmp_path) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["kind"] == "audit"
    assert "asked" in printed.err

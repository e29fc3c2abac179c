"""`fairgear audit`, from what is typed to the files and the exit status that it leaves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import Audit
from fairgear.cli import main
from fairgear.metrics import METRICS
from tests.cli.audits import FILES, OWN, QUICK, UNUSUAL, audit, command, refused, results

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(scope="module")
def finished(here: Path) -> Path:
    """An audit of a function on the synthetic graph."""
    out = here / "finished"
    assert audit("typed_models:features", *QUICK, out=out) == 0
    return out


def test_it_leaves_what_it_says(finished: Path) -> None:
    assert {entry.name for entry in finished.iterdir()} == FILES
    found = results(finished)
    usual = [name for name in METRICS if name not in UNUSUAL]
    assert list(found["metrics"]) == list(found["intervals"]) == usual
    assert found["model"]["name"] == "typed_models:features"
    assert found["model"]["kind"] == "Python callable"
    assert found["probes"] == {"sens": True, "graph": False, "repeats": True}
    settings = {"dataset": "synthetic", "people": 400, "draws": 1, "seed": 0, "self_people": 2}
    assert settings.items() <= found["setup"].items()
    assert (found["comparison"], found["causal_models"]) == (None, None)
    assert {"version", "seed", "graph_fingerprint", "stages"} <= found["provenance"].keys()
    table = pd.read_parquet(finished / "people.parquet")
    assert len(table) == 400
    read = Audit.load(finished)
    assert read.metrics["delta_cf"] == found["metrics"]["delta_cf"] > 0
    assert (finished / "report.html").read_text().rstrip().endswith("</html>")
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
        "The verdict hardly depends on the causal model",
        f"Report: {tmp_path / 'report.html'} Model card: {tmp_path / 'model-card.md'}",
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
    for entry in json.loads((folder / "key.json").read_text())["worlds"]:
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
    assert found["probes"] == {"sens": True, "graph": False, "repeats": None}
    typed = ["audit", "score", str(exported), "--fail-if", "delta_cf > 0"]
    typed += ["--junit", str(tmp_path / "out.xml"), "--out"]
    assert main([*typed, str(tmp_path / "out")]) == 3
    assert 'failures="1"' in (tmp_path / "out.xml").read_text(encoding="utf-8")
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == FILES
    # With a threshold, scores may be any numbers; nobody is above this one.
    assert main(["audit", "score", str(exported), "--threshold", "2"]) == 0
    assert results(exported / "audit")["metrics"]["delta_cf"] == 0


def test_nothing_but_scores_is_read_of_what_came_back(exported: Path, tmp_path: Path) -> None:
    """Somebody who scores may leave a key of their own: other people, and another file as data."""
    folder = tmp_path / "worlds"
    shutil.copytree(exported, folder, ignore=shutil.ignore_patterns("audit"))
    key = json.loads((folder / "key.json").read_text())
    assert main(["audit", "score", str(folder), "--out", str(tmp_path / "before")]) == 0
    key["audited"] = key["audited"][:5]
    key["about"]["audit"] |= {"dataset": "/nowhere/people.csv", "seed": 8}
    key["worlds"] = key["worlds"][:1]
    for name in ("key.json", "manifest.json", "scores/key.json"):
        (folder / "for-scoring" / name).write_text(json.dumps(key))
    shutil.rmtree(folder / "for-scoring" / "worlds")
    assert main(["audit", "score", str(folder), "--out", str(tmp_path / "after")]) == 0
    before, after = (results(tmp_path / name) for name in ("before", "after"))
    for facts in (before, after):
        # When it was, and how long it took.
        del facts["provenance"]
    assert before == after


def test_what_export_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["audit", "export", *OWN, *QUICK, "--out", str(tmp_path / "w")]
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    manifest = json.loads((tmp_path / "w" / "key.json").read_text())
    assert found == {"out": str(tmp_path / "w"), "graphs": len(manifest["worlds"])}
    assert main(typed) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert f"fairgear audit score {tmp_path / 'w'}" in said
    assert f"{tmp_path / 'w' / 'for-scoring'}: hand that folder over" in said
    assert main(["audit", "export", *OWN, "--seed", "1", *QUICK, "--out", str(tmp_path / "w")]) == 2
    assert "worlds that differ in seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("gap", "1 of 11 score files missing, the first for-scoring/scores/world-"),
        ("length", "float64 of shape (1999,)"),
        ("nan", "1 NaN or infinite scores, the first of node"),
        ("range", "scores from 0"),
        ("key", "no key.json of exported worlds"),
        ("earlier", "worlds that an earlier version exported"),
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
    key = json.loads((folder / "key.json").read_text())
    (place,) = [one["scores"] for one in key["worlds"] if one["name"] == "strict-rate-1-draw-0"]
    file = (folder / place).with_suffix(".npy")
    scores = np.load(file)
    audited = key["audited"]
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
        (folder / "key.json").rename(folder / f"{'manifest' if damage == 'earlier' else 'k'}.json")
    assert main(["audit", "score", str(folder)]) == 2
    refused(capsys, said)
    assert not (folder / "audit").exists()


def test_an_audit_that_fails_leaves_the_one_before(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert audit("typed_models:later", *QUICK, out=out) == 2
    refused(capsys, "never seen")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_every_option_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import fields

    from fairgear.runs.audit_config import AuditConfig

    main(["audit", "--help"])
    shown = capsys.readouterr().out
    for item in fields(AuditConfig):
        if item.name not in ("dataset", "data"):
            assert f"--{item.name.replace('_', '-')}" in shown
    for flag in ("--against", "--fail-if", "--threshold", "--timeout", "--no-other-causal-mo"):
        assert flag in shown


def test_what_a_model_prints_is_not_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit("typed_models:talks", "synthetic", *QUICK, "--json", out=tmp_path) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["model"]["name"] == "typed_models:talks"
    assert "asked" in printed.err

"""`fairgear audit scores.csv people.csv`: a file of scores, and nothing else known of the model."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import Audit
from tests.cli.audits import COLUMNS, FILES, OWN, QUICK, audit, refused, results
from tests.graph.people import PEOPLE

pytestmark = pytest.mark.usefixtures("here")
PROGRAM = """
import csv, sys

print("node_id,score")
with open(sys.argv[1] + "/nodes.csv") as file:
    for row in csv.DictReader(file):
        print(row["node_id"], 0.3 + 0.4 * (row["sex"] == "male"), sep=",")
"""
# Without edges.
ALONE = ["people.csv", *COLUMNS]


@pytest.fixture(scope="module")
def people(here: Path) -> pd.DataFrame:
    """Those of people.csv, and a score for each in scores.csv, in another order."""
    table = pd.read_csv(PEOPLE)
    table["score"] = np.random.default_rng(7).random(len(table)).round(3)
    table[["id", "score"]].sample(frac=1, random_state=0).to_csv("scores.csv", index=False)
    return table


def sections(folder: Path) -> list[str]:
    """The sections of a page, in order, and none of the words."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    return re.findall(r'<section id="([a-z-]+)"', page)


def test_scores_without_edges(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit("scores.csv", *ALONE, "--json", out=tmp_path) == 0
    found = json.loads(capsys.readouterr().out)
    assert {entry.name for entry in tmp_path.iterdir()} == FILES
    assert found == results(tmp_path)
    assert (found["model"]["name"], found["model"]["kind"]) == ("scores.csv", "file of scores")
    assert found["setup"]["people"] == len(people)
    assert found["config"]["nodes"] == "all"
    said = people["score"] > 0.5
    right = said == (people["approved"] == "yes")
    assert found["metrics"]["accuracy"] == pytest.approx(right.mean())
    rates = said.groupby(people["sex"]).mean()
    assert found["metrics"]["delta_dp"] == pytest.approx(abs(rates["male"] - rates["female"]))
    assert found["metrics"]["delta_cf"] is None
    kept = Audit.load(tmp_path).people.set_index("node_name")["score"]
    assert kept[people["id"]].tolist() == people["score"].tolist()


def test_the_page_is_that_of_a_command_with_what_is_not_known(
    people: pd.DataFrame, tmp_path: Path
) -> None:
    few = ["--draws", "1", "--self-people", "2", "--affected-people", "1", "--nodes", "some.txt"]
    Path("some.txt").write_text("\n".join(people["id"][:40]))
    Path("by_sex.py").write_text(PROGRAM)
    command = f"{shlex.quote(sys.executable)} -I -S by_sex.py {{graph}}"
    assert audit(command, *OWN, *few, out=tmp_path / "command") == 0
    assert audit("scores.csv", *ALONE, out=tmp_path / "scores") == 0
    assert sections(tmp_path / "scores") == sections(tmp_path / "command")
    page = (tmp_path / "scores" / "report.html").read_text(encoding="utf-8")
    assert page.count("Not measured: a file of scores says what people get") == 4
    assert "Not measured: a file" not in (tmp_path / "command" / "report.html").read_text()
    assert "Not known: whether answers change with sex" in page


def test_scores_with_edges_know_who_is_around(people: pd.DataFrame, tmp_path: Path) -> None:
    assert audit("scores.csv", *OWN, out=tmp_path / "linked") == 0
    assert audit("scores.csv", *ALONE, out=tmp_path / "alone") == 0
    linked, alone = (results(tmp_path / name)["metrics"] for name in ("linked", "alone"))
    assert linked["r2"] is not None
    assert alone["r2"] is None
    assert linked["delta_cf"] is None
    for key in ("accuracy", "auroc", "delta_dp", "delta_eo"):
        assert linked[key] == pytest.approx(alone[key])


def test_nothing_but_groups_and_labels_is_needed(people: pd.DataFrame, tmp_path: Path) -> None:
    """Columns that a model could not read are in nobody's way."""
    table = people[["id", "sex", "approved"]].assign(
        name=[f"Person number {row}" for row in range(len(people))],
        age=np.where(np.arange(len(people)) % 3, 40, np.nan),
    )
    table.to_csv(tmp_path / "bare.csv", index=False)
    typed = [str(tmp_path / "bare.csv"), *COLUMNS]
    assert audit("scores.csv", *typed, out=tmp_path / "bare") == 0
    assert audit("scores.csv", *ALONE, out=tmp_path / "all") == 0
    assert results(tmp_path / "bare")["metrics"] == results(tmp_path / "all")["metrics"]
    assert audit("scores.csv", *typed[:1], "--sensitive", "sex", out=tmp_path / "no label") == 0
    found = results(tmp_path / "no label")
    assert found["metrics"]["accuracy"] is None
    assert found["metrics"]["delta_dp"] == results(tmp_path / "all")["metrics"]["delta_dp"]


def test_ids_by_the_name_of_their_column(people: pd.DataFrame, tmp_path: Path) -> None:
    for name, columns in (("t", ["sex", "approved", "person"]), ("s", ["person", "score"])):
        table = people.rename(columns={"id": "person"})[columns]
        table.sample(frac=1, random_state=1).to_parquet(tmp_path / f"{name}.parquet")
    typed = [str(tmp_path / "s.parquet"), str(tmp_path / "t.parquet"), *COLUMNS]
    assert audit(*typed, "--id", "person", out=tmp_path / "named") == 0
    assert audit("scores.csv", *ALONE, out=tmp_path / "usual") == 0
    one, other = (results(tmp_path / name) for name in ("named", "usual"))
    for key in ("accuracy", "delta_dp", "delta_eo", "auroc"):
        assert one["metrics"][key] == pytest.approx(other["metrics"][key])


def test_conditions_and_thresholds(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["scores.csv", *ALONE, "--threshold", "0.9"]
    assert audit(*typed, "--fail-if", "delta_dp > 0.9", out=tmp_path / "a") == 0
    assert results(tmp_path / "a")["model"]["threshold"] == 0.9
    assert audit(*typed, "--fail-if", "accuracy < 0.99", out=tmp_path / "a") == 3
    assert "fairgear: accuracy is" in capsys.readouterr().err
    # What is not known was not shown to be low.
    assert audit(*typed, "--fail-if", "delta_cf > 0.9", out=tmp_path / "a") == 3
    assert "delta_cf is undefined" in capsys.readouterr().err


def test_two_files_of_scores(people: pd.DataFrame, tmp_path: Path) -> None:
    other = people[["id"]].assign(answer=people["approved"])
    other.to_csv("perfect.csv", index=False)
    assert audit("scores.csv", *ALONE, "--against", "perfect.csv", out=tmp_path) == 0
    found = results(tmp_path)["comparison"]
    rows = {row["metric"]: row for row in found["rows"]}
    assert rows["accuracy"]["second"] == 1
    assert rows["accuracy"]["better"] == "second"


BAD = {
    "no file": (["gone.csv", *ALONE], "file gone.csv: got no such file"),
    "no table": (["scores.csv"], "DATA: got none beside a file of scores"),
    "draws": (["scores.csv", *ALONE, "--draws", "3"], "--draws: got it beside a file of scores"),
    "causal": (["scores.csv", *ALONE, "--causal", "shift"], "--causal: got it beside a file of"),
    "a model": (
        ["scores.csv", *ALONE, "--against", "typed_models:constant"],
        "--against: got typed_models:constant beside the scores in scores.csv",
    ),
    "beside a model": (
        ["typed_models:constant", *OWN, *QUICK, "--against", "scores.csv"],
        "--against: got a file of scores beside a model",
    ),
    "columns": (["strange.csv", *ALONE], "got the columns 'id', 'probability'; allowed: the col"),
    "other people": (["others.csv", *ALONE], "ids of nobody, the first 'Q1'"),
    "twice": (["twice.csv", *ALONE], "1 repeated ids, the first 'P0000'"),
    "gap": (["gap.csv", *ALONE], "1 NaN or infinite scores, the first of node 'P0001'"),
    "logits": (["logits.csv", *ALONE], "allowed: 0 to 1, unless a threshold is given"),
    "no group": (["scores.csv", "people.csv", "--label", "approved"], "--sensitive: got none"),
    "some nodes": (
        ["part.csv", *ALONE, "--nodes", "three.txt"],
        "got no score of 1 people, the first 'P0002'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, people: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {
        "strange": "id,probability\nP0000,0.5\n",
        "others": "id,score\nQ1,0.5\n",
        "twice": "id,score\nP0000,0.5\nP0000,0.4\n",
        "gap": "id,score\nP0000,0.5\nP0001,\n",
        "logits": "id,score\nP0000,2.5\nP0001,-1\n",
        "part": "id,score\nP0000,0.5\nP0001,1\n",
    }.items():
        Path(f"{name}.csv").write_text(text)
    Path("three.txt").write_text("P0000\nP0001\nP0002\n")
    typed, said = BAD[case]
    assert audit(*typed, out="left") == 2
    refused(capsys, said)
    assert not Path("left").exists()


def test_a_part_of_the_people(people: pd.DataFrame, tmp_path: Path) -> None:
    people[["id", "score"]][:100].to_csv(tmp_path / "some.csv", index=False)
    assert audit(str(tmp_path / "some.csv"), *ALONE, out=tmp_path / "out") == 0
    found = results(tmp_path / "out")
    assert found["setup"]["people"] == 100
    assert "100 of the 400 people have a score: the other 300 were not audited." in found["notes"]

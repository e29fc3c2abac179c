"""`--format ll144`, of an audit and of a finished one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fairgear.auditing import Audit
from fairgear.cli import main
from fairgear.report import ll144_markdown
from tests.cli.audits import FILES, OWN, audit

pytestmark = pytest.mark.usefixtures("here")
QUICK = ["--draws", "1", "--self-people", "0", "--no-other-causal-models"]
TABLES = {"ll144.md", "ll144.csv"}


def test_the_tables_are_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["typed_models:features", *OWN, *QUICK]
    assert audit(*typed, "--format", "ll144", out=tmp_path) == 0
    assert {entry.name for entry in tmp_path.iterdir()} == FILES | TABLES
    printed, found = capsys.readouterr().out, Audit.load(tmp_path)
    assert printed.rstrip() == ll144_markdown(found).rstrip()
    table = pd.read_csv(tmp_path / "ll144.csv").set_index("category")
    for group, name in enumerate(found.names.groups):
        of = found.people[found.people["sens"] == group]
        row = table.loc[name]
        assert (row["applicants"], row["selected"]) == (len(of), of["label"].sum())
        above = (of["score"] > found.people["score"].median()).mean()
        assert row["scoring_rate"] == pytest.approx(above)
    # Tables of an earlier audit do not stay beside another one.
    assert audit("typed_models:constant", *OWN, *QUICK, "--json", out=tmp_path) == 0
    assert {entry.name for entry in tmp_path.iterdir()} == FILES
    json.loads(capsys.readouterr().out)
    assert main(["report", str(tmp_path), "--format", "ll144"]) == 0
    assert "| 100.0 % | 1.00 |" in capsys.readouterr().out
    assert {entry.name for entry in tmp_path.iterdir()} >= TABLES


def test_a_number_makes_no_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["people.csv", "--label", "approved", "--sensitive", "income", "--edges", "friends.csv"]
    typed = ["typed_models:features", *data, *QUICK]
    assert audit(*typed, "--format", "ll144", out=tmp_path) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("fairgear: the tables of Local Law 144: got the number 'income'")
    assert Audit.load(tmp_path).names.number == "income"


def test_other_formats_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("typed_models:features", *OWN, "--format", "pdf", out=tmp_path) == 2
    assert "ll144" in capsys.readouterr().err

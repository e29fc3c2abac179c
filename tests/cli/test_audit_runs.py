"""`fairgear audit` on people of one's own choice, and on what `fairgear run` left."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairgear.cli import main
from tests.cli.audits import COLUMNS, OWN, QUICK, audit, refused, results
from tests.cli.test_run import small
from tests.graph.people import people

pytestmark = pytest.mark.usefixtures("here")


def test_a_file_of_ids_needs_no_ending(tmp_path: Path) -> None:
    Path("listed").write_text("\n".join(people().id.head(5)))
    typed = ["typed_models:copies", "people.csv", "--sensitive", "sex", "--edges", "friends.csv"]
    assert audit(*typed, *QUICK, "--nodes", "listed", out=tmp_path) == 0


@pytest.mark.parametrize(("part", "count"), [("val", 400), ("train", 1200), ("all", 2000)])
def test_other_people(part: str, count: int, tmp_path: Path) -> None:
    assert audit("typed_models:constant", *QUICK, "--nodes", part, out=tmp_path) == 0
    assert results(tmp_path)["setup"]["people"] == count


def test_own_data_in_their_own_words(tmp_path: Path) -> None:
    table = people()
    chosen = table.id.iloc[[5, 17, 80, 81, 200]].tolist()
    Path("names.txt").write_text("node_name\n" + "\n".join(reversed(chosen)))
    typed = ["typed_models:copies", *OWN, *QUICK, "--nodes", "names.txt"]
    assert audit(*typed, out=tmp_path) == 0
    found = results(tmp_path)
    assert found["setup"]["dataset"] == "people"
    assert found["setup"]["causal_model"] == "fitted"
    names = {"groups": ["female", "male"], "classes": ["no", "yes"]}
    assert found["names"] == {
        **names,
        "number": "",
        "levels": [],
        "attribute": "sex",
        "label": "approved",
        "attributes": [],
        "cells": [],
    }
    assert pd.read_parquet(tmp_path / "people.parquet")["node_name"].tolist() == chosen
    assert {one["node_id"] for one in found["affected"]} <= set(chosen)
    page = (tmp_path / "report.html").read_text()
    assert "female" in page


def test_a_diagram_of_ones_own(tmp_path: Path) -> None:
    Path("mine.yaml").write_text("parents:\n  job: [sex]\n  income: [sex, job]\nresolving: [job]\n")
    typed = ["typed_models:copies", *OWN, "--nodes", "all", "--draws", "1", "--self-people", "3"]
    typed += ["--what-if-people", "2", "--causal", "mine.yaml"]
    assert audit(*typed, "--fail-if", "delta_cf > 2e-9", out=tmp_path) == 3
    found = results(tmp_path)
    assert found["diagnostics"]["diagram"] == {"job": ["sex"], "income": ["sex", "job"], "sex": []}
    assert found["diagnostics"]["resolving"] == ["job"]
    assert len(found["dose"]["points"]) == 5
    assert {"own", "sequential", "shift"} <= {
        row["model"] for row in found["causal_models"]["rows"]
    }
    page = (tmp_path / "report.html").read_text()
    assert "income follows from sex, job." in page


def test_own_data_without_labels(tmp_path: Path) -> None:
    typed = ["typed_models:copies", "people.csv", "--sensitive", "sex", "--edges", "friends.csv"]
    assert audit(*typed, *QUICK, "--nodes", "all", out=tmp_path) == 0
    found = results(tmp_path)
    assert found["metrics"]["accuracy"] is None
    assert found["metrics"]["delta_cf"] > 0
    assert found["setup"]["people"] == 400


@pytest.fixture(scope="module")
def run(here: Path) -> Path:
    """A run on one's own data, with another seed than the usual one."""
    Path("few.yaml").write_text("what_if_people: 4\n")
    typed = [*OWN, "--seed", "3", *small(20), "--config", "few.yaml"]
    assert main(["run", *typed, "--out", "run"]) == 0
    return here / "run"


def test_a_run_is_audited_on_the_people_that_it_kept(run: Path, tmp_path: Path) -> None:
    """Without a word on data, split or seed: the audit finds them, and the run's own numbers."""
    assert audit("run", "--what-if-people", "4", out=tmp_path) == 0
    found = results(tmp_path)
    ran = json.loads((run / "audit.json").read_text())
    assert (found["setup"]["dataset"], found["setup"]["seed"]) == ("people", 3)
    assert found["model"]["kind"] == "fairgear method"
    assert found["metrics"] == ran["metrics"]
    assert found["intervals"] == ran["intervals"]
    predicted = pd.read_parquet(run / "predictions.parquet")
    kept = predicted[predicted["split"] == "test"]
    table = pd.read_parquet(tmp_path / "people.parquet")
    assert table["node_name"].tolist() == kept["node_name"].tolist()
    # The run asked about everybody and the audit about these; some processors round otherwise then.
    np.testing.assert_allclose(table["score"], kept["score"], atol=1e-6)


def test_a_saved_model_is_audited_on_what_is_named(run: Path, tmp_path: Path) -> None:
    typed = [str(run / "model"), *OWN, "--seed", "3", *QUICK]
    assert audit(*typed, out=tmp_path / "a") == 0
    assert audit("run", "--seed", "3", *QUICK, out=tmp_path / "b") == 0
    one, other = (results(tmp_path / name) for name in "ab")
    assert one["metrics"] == other["metrics"]
    assert audit("run", "--seed", "4", *QUICK, out=tmp_path / "c") == 0
    assert results(tmp_path / "c")["setup"]["worlds"] != one["setup"]["worlds"]


def test_a_saved_model_reads_other_people_as_its_own(run: Path, tmp_path: Path) -> None:
    """Read by itself, a table in which nobody has one of the jobs has a column less."""
    table = people()
    jobs = sorted(set(table.job))
    table[table.job != jobs[0]].to_csv("others.csv", index=False)
    typed = ["run", "others.csv", *COLUMNS, "--similarity", "0.7", "--nodes", "all", *QUICK]
    assert audit(*typed, out=tmp_path) == 0
    assert results(tmp_path)["setup"]["people"] == int((table.job != jobs[0]).sum())


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

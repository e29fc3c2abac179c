"""The flags of sensitive attributes, from the command line to settings and the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.datasets import GraphSource
from fairgear.datasets.source import FileOptions
from fairgear.errors import FairgearError
from fairgear.graph import open_stored
from fairgear.runs.audit_config import audit_config, on_dataset, settings_of_run
from fairgear.runs.config import RunConfig
from tests.cli.checkups import RIGHT, parsed, table
from tests.graph.people import PEOPLE, people, rows_of_friends

KINDS = ["age=continuous,sex=binary", "job=categorical"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes(PEOPLE.read_bytes())


@pytest.mark.parametrize(
    "typed",
    [
        ["--sensitive-kind", *KINDS],
        ["--sensitive-kind", KINDS[0], "--sensitive-kind", KINDS[1]],
        ["--sensitive-kind", "age=continuous", "sex=binary", "job = categorical"],
    ],
)
def test_kinds_are_typed_with_commas_or_one_by_one(typed: list[str]) -> None:
    options = FileOptions(sensitive="age", **parsed([*typed, "--unknown", "drop"]))
    columns = options.columns()
    expected = {"age": "continuous", "sex": "binary", "job": "categorical"}
    assert columns.sensitive_kind == expected
    assert columns.unknown == "drop"


def test_names_with_signs_in_them() -> None:
    options = FileOptions(sensitive="a,b=c", sensitive_kind=["a,b=c=continuous", "d=binary"])
    assert options.columns().sensitive_kind == {"a,b=c": "continuous", "d": "binary"}
    for wrong in (["age"], ["=binary"], ["age=number"], [""], ["age=binary,sex=x"]):
        with pytest.raises(FairgearError, match="COLUMN=KIND, where a kind is binary"):
            FileOptions(sensitive_kind=wrong)
    wrong_type: Any = "age=binary"
    with pytest.raises(FairgearError, match="setting sensitive_kind"):
        FileOptions(sensitive_kind=wrong_type)


def test_settings_of_a_run_and_its_audits_repeat() -> None:
    table(age=[*people().age[:380] % 12, *[""] * 20])
    options = {"sensitive": "age", "sensitive_kind": ["age=continuous"], "similarity": 0.7}
    data = {"label": "approved", **options, "unknown": "drop"}
    config = RunConfig.from_dict({"dataset": "people.csv", "data": data}).checked()
    graph = config.load()
    assert graph.continuous
    assert len(graph.x) == 380
    folder = Path("run")
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.json").write_text("{}")
    graph.encoding.write(folder / "model" / "encoding.json")
    (folder / "config.yaml").write_text(yaml.safe_dump(config.to_dict()))
    again = RunConfig.from_dict(yaml.safe_load((folder / "config.yaml").read_text()))
    assert again == config
    assert again.checked().load().fingerprint() == graph.fingerprint()
    audited = audit_config(settings_of_run("run"))
    assert audited.data == config.data
    people()[:9].to_csv("others.csv", index=False)
    others = audit_config(on_dataset(settings_of_run("run"), "others.csv"))
    read = others.load(split=False, model=folder / "model")
    assert read.continuous
    assert read.sens.tolist() == people().age[:9].tolist()


def test_settings_without_them_are_written_as_before() -> None:
    data = GraphSource("people.csv", data=FileOptions(**RIGHT)).to_dict()["data"]
    old = {key: value for key, value in data.items() if key not in ("sensitive_kind", "unknown")}
    assert FileOptions.from_dict(old) == FileOptions(**RIGHT)


def test_a_slip_in_a_kind_is_answered_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--label", "approved", "--sensitive", "agee", "--sensitive-kind", "agge=continuous"]
    assert main(["data", "people.csv", *typed, "--similarity", "0.7"]) == 2
    said = capsys.readouterr()
    assert said.err.count("did you mean 'age'") == 2
    assert "--sensitive-kind: got 'agge', which is no column" in said.err
    assert "--sensitive age --sensitive-kind age=continuous" in said.out
    assert main(["run", "people.csv", *typed, "--similarity", "0.7"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        (["age"], "continuous"),
        (["job"], "categorical"),
        (["job,sex"], "categorical"),
        (["age", "--sensitive-kind", "age=categorical"], "categorical"),
    ],
)
def test_every_kind_is_stored(
    typed: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people().drop(columns="id")
    frame.loc[:49, "sex"] = None
    frame.to_parquet("people.parquet")
    ends = "\n".join(f"{a},{b}" for a, b in rows_of_friends().T)
    Path("friends.csv").write_text(f"a,b\n{ends}\n")
    command = ["store", "--edges", "friends.csv", "--features", "people.parquet"]
    command += ["--label", "approved", "--sensitive", *typed, "--missing", "impute"]
    assert main([*command, "--out", "graph"]) == 0
    graph = open_stored("graph")
    assert graph.sens_kind == kind
    unknown = "unknown of 50 of 400 people" in capsys.readouterr().err
    assert unknown == (graph.sens_known is not None) == ("sex" in typed[0])
    # Read as by a run.
    loaded = GraphSource("graph").checked().load()
    assert loaded.attributes == graph.attributes
    assert loaded.sens_kind == kind

"""`fairgear audit verify`: whole folders, and every way in which one is not."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairgear.auditing import Audit
from fairgear.auditing.exchange import read_manifest
from fairgear.auditing.sums import read_sums
from fairgear.causal.diagram import Diagram
from fairgear.cli import main
from fairgear.datasets.download import RemoteFile, fetch, local
from fairgear.datasets.source import GraphSource
from fairgear.evidence import FileHash, reading
from fairgear.graph.stored import write_stored
from fairgear.runs import verify as module
from fairgear.runs.model_spec import files_of
from fairgear.runs.verify import CheckedFile, verify
from tests.auditing.models import small_graph
from tests.cli.audits import FILES, MODELS, OWN, QUICK

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, and audits of two models and of few people."""
    place = tmp_path_factory.mktemp("evidence")
    for name in ("people.csv", "friends.csv"):
        shutil.copy(EXAMPLES / name, place)
    (place / "verified_models.py").write_text(MODELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for typed in (
            [
                "verified_models:copies",
                *OWN,
                *QUICK,
                "--against",
                "verified_models:constant",
                "--out",
                "two",
            ],
            ["verified_models:constant", *OWN, *QUICK, "--nodes", "ids.txt", "--out", "few"],
        ):
            (place / "ids.txt").write_text("P0003\nP0007\nP0011\nP0012\n")
            assert main(["audit", *typed]) == 0
    return place


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, where one may break things."""
    copy = tmp_path / "here"
    shutil.copytree(made, copy)
    monkeypatch.chdir(copy)
    return copy


def wrong(found: list[CheckedFile]) -> set[tuple[str, str, str]]:
    return {(one.file, one.role, one.state) for one in found if one.state != "ok"}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_inputs_are_recorded_as_sha256sum_prints_them(here: Path) -> None:
    for folder, files in (
        (
            "two",
            {"people.csv": "table", "friends.csv": "edges", "verified_models.py": "model code"},
        ),
        (
            "few",
            {
                "people.csv": "table",
                "friends.csv": "edges",
                "ids.txt": "list of people",
                "verified_models.py": "model code",
            },
        ),
    ):
        known = Audit.load(here / folder).provenance
        assert known is not None
        assert {file.path: file.role for file in known.files} == files
        for file in known.files:
            path = here / file.path
            line = subprocess.check_output(["sha256sum", file.path], cwd=here, text=True)
            assert line == f"{file.sha256}  {file.path}\n"
            assert file.bytes == path.stat().st_size
            for page in ("report.html", "model-card.md", "audit.json"):
                assert file.sha256 in (here / folder / page).read_text()
        assert known.command.startswith("fairgear audit verified_models:")
        assert known.command.endswith(f"--out {folder}")


def test_a_whole_folder_is_verified_by_us_and_by_sha256sum(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("two", "few"):
        assert main(["audit", "verify", folder]) == 0
        assert "all as they were" in capsys.readouterr().out
        subprocess.run(["sha256sum", "-c", "SHA256SUMS"], check=True, cwd=folder)
    listed = FILES - {"SHA256SUMS"}
    assert read_sums(here / "few").keys() == listed
    assert read_sums(here / "two").keys() == listed | {f"against/{name}" for name in FILES}


@pytest.mark.parametrize(
    "name",
    ["audit.json", "people.parquet", "people.csv", "against/audit.json", "against/report.html"],
)
def test_a_changed_result_is_named_and_the_exit_status_is_3(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "two" / name
    path.write_bytes(path.read_bytes() + b" ")
    assert main(["audit", "verify", "two", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert not found["verified"]
    (one,) = [row for row in found["files"] if row["state"] != "ok"]
    assert (one["file"], one["role"], one["state"]) == (name, "result", "changed")
    assert one["found"] == digest(path) != one["recorded"]


def test_missing_and_changed_inputs(here: Path) -> None:
    (here / "people.csv").write_text("another table\n")
    (here / "verified_models.py").unlink()
    assert wrong(verify(Path("two"))) == {
        ("people.csv", "table", "changed"),
        ("verified_models.py", "model code", "missing"),
    }


def test_inputs_may_lie_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    for name in ("people.csv", "friends.csv", "verified_models.py"):
        (here / name).rename(elsewhere / name)
    assert len(wrong(verify(Path("two")))) == 3
    assert main(["audit", "verify", "two", "--data", "elsewhere"]) == 0
    monkeypatch.chdir(elsewhere)
    assert wrong(verify(here / "two")) == set()


def test_a_page_with_other_numbers_is_found_even_if_its_hash_was_made_to_fit(here: Path) -> None:
    page = here / "two" / "report.html"
    audit = Audit.load(here / "two")
    accuracy = f"{audit.metrics['accuracy']:.3f}"
    assert accuracy in page.read_text()
    before = digest(page)
    page.write_text(page.read_text().replace(accuracy, "0.999"))
    sums = here / "two" / "SHA256SUMS"
    sums.write_text(sums.read_text().replace(before, digest(page)))
    assert wrong(verify(Path("two"))) == {("report.html", "as of audit.json", "changed")}


def test_the_page_of_another_version_is_not_compared(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "installed_version", lambda: "99")
    found = verify(Path("two"))
    assert wrong(found) == {
        (name, "as of audit.json", "not compared") for name in ("report.html", "model-card.md")
    }
    assert main(["audit", "verify", "two"]) == 0


@pytest.mark.parametrize(
    "name",
    [*sorted(FILES - {"SHA256SUMS"}), *sorted(f"against/{name}" for name in FILES), "ll144.csv"],
)
def test_a_result_that_the_sums_do_not_name_is_reported(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "two", "--format", "ll144"]) == 0
    file, sums = here / "two" / name, here / "two" / "SHA256SUMS"
    lines = sums.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.endswith(f"  {name}\n")]
    assert len(kept) == len(lines) - 1
    sums.write_text("".join(kept))
    capsys.readouterr()
    assert main(["audit", "verify", "two", "--json"]) == 3
    (one,) = [row for row in json.loads(capsys.readouterr().out)["files"] if row["state"] != "ok"]
    assert one == {
        **{"file": name, "role": "result", "state": "not listed", "recorded": ""},
        **{"found": digest(file), "remark": "not in SHA256SUMS"},
    }
    assert main(["audit", "verify", "two"]) == 3
    assert "1 changed, missing or not listed" in capsys.readouterr().out


def test_files_that_are_gone_with_their_lines_are_missing(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = here / "two" / "SHA256SUMS"
    for name in ("people.csv", "report.html", "against/audit.json"):
        (here / "two" / name).unlink()
        lines = sums.read_text().splitlines(keepends=True)
        sums.write_text("".join(line for line in lines if not line.endswith(f"  {name}\n")))
    monkeypatch.setattr(module, "installed_version", lambda: "99")
    states = wrong(verify(Path("two"))) - {("model-card.md", "as of audit.json", "not compared")}
    assert states == {
        ("people.csv", "result", "missing"),
        ("report.html", "as of audit.json", "missing"),
        ("against/audit.json", "result", "missing"),
    }


@pytest.mark.parametrize("change", ["short", "empty", "twice"])
def test_a_line_that_holds_no_hash_is_refused(
    change: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sums = here / "two" / "SHA256SUMS"
    lines = sums.read_text().splitlines()
    lines[1:2] = {"short": [lines[1][1:]], "empty": [""], "twice": [lines[0], lines[1]]}[change]
    sums.write_text("\n".join(lines) + "\n")
    assert main(["audit", "verify", "two"]) == 2
    said = capsys.readouterr().err
    assert f"SHA256SUMS: got line 2, '{lines[1][:40]}'; allowed: in each line a SHA-256" in said
    assert said.count("\n") == 1


def test_a_page_that_is_written_again_is_verified(here: Path) -> None:
    page = here / "two" / "report.html"
    page.write_text("damaged")
    assert main(["audit", "verify", "two"]) == 3
    assert main(["report", "two"]) == 0
    assert main(["audit", "verify", "two"]) == 0
    assert main(["report", "two", "--out", "elsewhere.html"]) == 0
    assert main(["audit", "verify", "two"]) == 0


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_what_is_no_audit_is_refused(
    folder: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "verify", folder]) == 2
    assert "no SHA256SUMS in it" in capsys.readouterr().err


def test_a_run_has_the_hashes_of_its_model_wherever_it_is(tmp_path: Path) -> None:
    out = tmp_path / "run"
    typed = ["run", "synthetic", "--method", "logistic", "--quick", "--out", str(out)]
    assert main(typed) == 0
    known = Audit.load(out).provenance
    assert known is not None
    files = {file.path: file for file in known.files}
    model = {path.relative_to(out).as_posix() for path in (out / "model").rglob("*")}
    assert files.keys() == model
    assert {file.role for file in known.files} == {"trained model"}
    assert {"config.yaml", "predictions.parquet", *model} < read_sums(out).keys()
    assert "checkpoint" not in "".join(read_sums(out))
    moved = out.rename(tmp_path / "moved")
    assert wrong(verify(moved)) == set()
    config = yaml.safe_load((moved / "config.yaml").read_text())
    (moved / "config.yaml").write_text(yaml.safe_dump({**config, "seed": 5}))
    assert wrong(verify(moved)) == {("config.yaml", "result", "changed")}
    sums = moved / "SHA256SUMS"
    unlisted = {"config.yaml", "predictions.parquet", *model}
    lines = sums.read_text().splitlines(keepends=True)
    sums.write_text("".join(line for line in lines if line[66:-1] not in unlisted))
    assert wrong(verify(moved)) == {(name, "result", "not listed") for name in unlisted}


def test_scripts_saved_models_and_code_are_the_files_of_models(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = here / "saved"
    (saved / "deep").mkdir(parents=True)
    for name in ("model.json", "deep/weights"):
        (saved / name).write_text(name)
    (here / "my score.py").write_text("pass\n")
    found = files_of(f"{sys.executable} -I 'my score.py' {{graph}} friends.csv", "saved", None)
    assert [(file.role, file.path) for file in found] == [
        ("script", sys.executable),
        ("script", "my score.py"),
        ("script", "friends.csv"),
        ("model", "saved/deep/weights"),
        ("model", "saved/model.json"),
    ]
    assert all(file.sha256 == digest(Path(file.path)) for file in found)
    assert files_of("python score.sh {graph}") == (), "a name on the path, and no such file"


def test_graphs_lists_diagrams_and_datasets_are_noted_when_they_are_opened(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stored(small_graph(40), Path("graph"))
    source = GraphSource.from_dict({"dataset": "graph"}).checked()
    with reading(source.roles()) as read:
        source.load()
    assert {file.path for file in read.files} == {str(path) for path in Path("graph").iterdir()}
    assert {file.role for file in read.files} == {"graph"}
    assert all(file.sha256 == digest(Path(file.path)) for file in read.files)

    Path("diagram.yaml").write_text("income: [sex]\n")
    with reading({"diagram.yaml": "causal model"}) as read:
        Diagram.read("diagram.yaml")
    assert [(file.role, file.sha256) for file in read.files] == [
        ("causal model", digest(Path("diagram.yaml")))
    ]

    own = here / "data" / "mine"
    own.mkdir(parents=True)
    (own / "a.csv").write_text("a\n1\n")
    file = RemoteFile("mine/a.csv", "http://nowhere", digest(own / "a.csv"), 4)
    monkeypatch.setenv("FAIRGEAR_DATA", str(here / "data"))
    with reading() as read:
        fetch(file)
    assert read.files == (FileHash("dataset", "mine/a.csv", file.sha256, 4),)
    assert local("mine/a.csv") == own / "a.csv"


def test_an_audit_of_scores_names_every_file_of_scores(here: Path) -> None:
    typed = ["--draws", "1", "--self-people", "1", "--no-other-causal-models"]
    assert main(["audit", "export", *OWN, *typed, "--out", "worlds"]) == 0
    manifest = read_manifest(Path("worlds"))
    worlds, people = manifest.worlds, pd.DataFrame({"node_id": manifest.node_ids, "score": 0.7})
    for world in worlds:
        score = Path("worlds", world.scores)
        score.parent.mkdir(exist_ok=True)
        people.to_csv(score, index=False)
    assert main(["audit", "score", "worlds"]) == 0
    known = Audit.load(Path("worlds/audit")).provenance
    assert known is not None
    by_role: dict[str, set[str]] = {}
    for file in known.files:
        by_role.setdefault(file.role, set()).add(file.path)
    strict = {f"worlds/{one.scores}" for one in worlds if one.protocol == "strict"}
    # Of the others only those that were asked about.
    assert strict <= by_role["scores"] <= {f"worlds/{one.scores}" for one in worlds}
    assert by_role["manifest"] == {"worlds/key.json"}
    assert {Path(path).name for path in by_role["table"]} == {"people.csv"}
    assert wrong(verify(Path("worlds/audit"))) == set()


def test_the_tables_of_local_law_144_are_among_the_files(here: Path) -> None:
    typed = ["verified_models:copies", *OWN, *QUICK, "--format", "ll144", "--out", "law"]
    assert main(["audit", *typed]) == 0
    assert {"ll144.md", "ll144.csv"} < read_sums(Path("law")).keys()
    assert main(["report", "two", "--format", "ll144"]) == 0
    assert {"ll144.md", "ll144.csv"} < read_sums(Path("two")).keys()
    for folder in ("law", "two"):
        assert main(["audit", "verify", folder]) == 0
    Path("law/ll144.csv").write_text("other numbers")
    assert wrong(verify(Path("law"))) == {("ll144.csv", "result", "changed")}


def test_an_audit_of_a_file_of_scores_names_that_file(here: Path) -> None:
    people = pd.read_csv("people.csv", dtype={"id": str})
    rows = people.assign(score=np.arange(len(people)) % 10 / 10)
    rows[["id", "score"]].to_csv("scores.csv", index=False)
    np.save("scores.npy", rows["score"].to_numpy())
    for name in ("scores.csv", "scores.npy"):
        assert main(["audit", name, *OWN[:-2], "--out", name.replace(".", "-")]) == 0
        known = Audit.load(name.replace(".", "-")).provenance
        assert known is not None
        assert {file.path: file.role for file in known.files} == {
            "people.csv": "table",
            name: "scores",
        }
        assert {file.sha256 for file in known.files} == {
            digest(Path("people.csv")),
            digest(Path(name)),
        }

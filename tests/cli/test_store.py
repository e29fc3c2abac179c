"""From files on disk to a stored graph, a run on it and its embeddings, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairgear.cli import main
from fairgear.graph import open_stored, split, write_stored
from fairgear.methods import load_model
from tests.cli.test_run import small
from tests.graph.people import people, rows_of_friends

TYPED = ["--features", "people.parquet", "--label", "approved", "--sensitive", "sex"]
EDGES = ["--edges", "friends.csv"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its edges, the stored graph of both and a run on it."""
    folder = tmp_path_factory.mktemp("here")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        people().drop(columns="id").to_parquet("people.parquet")
        pd.DataFrame(rows_of_friends().T, columns=["a", "b"]).to_csv("friends.csv", index=False)
        assert main(["store", *EDGES, *TYPED, "--out", "graph", "--memory", "1"]) == 0
        assert main(["run", "graph", *small(20), "--quick"]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)


def test_a_run_on_a_stored_graph_is_the_run_on_its_files(here: Path, tmp_path: Path) -> None:
    typed = ["people.parquet", *TYPED[2:], *EDGES, "--out", str(tmp_path / "files")]
    assert main(["run", *typed, *small(20), "--quick"]) == 0
    folders = (here / "runs" / "graph-gear-0", tmp_path / "files")
    found = [json.loads((folder / "audit.json").read_text()) for folder in folders]
    assert found[0]["metrics"] == found[1]["metrics"]
    assert (
        found[0]["provenance"]["graph_fingerprint"] == found[1]["provenance"]["graph_fingerprint"]
    )
    tables = [pd.read_parquet(folder / "predictions.parquet") for folder in folders]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    encodings = [(folder / "model" / "encoding.json").read_text() for folder in folders]
    assert encodings[0] == encodings[1]


def test_a_finished_run_is_not_run_again_and_notes_its_content(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "graph", *small(20), "--quick"]) == 0
    assert "nothing to do" in capsys.readouterr().err
    config = yaml.safe_load((here / "runs/graph-gear-0/config.yaml").read_text())
    facts = json.loads((here / "graph/meta.json").read_text())
    assert config["data"]["sha256"] == facts["fingerprint"]
    assert config["split"] == "sixty-twenty-twenty"


def test_embeddings_of_a_stored_graph(tmp_path: Path) -> None:
    model = "runs/graph-gear-0/model"
    out = tmp_path / "z.parquet"
    assert main(["embed", model, "graph", "--out", str(out), "--scores"]) == 0
    table = pd.read_parquet(out)
    fitted, graph = load_model(model, device="cpu"), open_stored("graph")
    assert np.array_equal(table.filter(regex=r"^z\d").to_numpy(), fitted.embed(graph))
    assert np.array_equal(table.score, fitted.predict_proba(graph)[:, 1])


def test_other_people_are_stored_as_the_model_knows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, typed = "runs/graph-gear-0/model", ["--edges", "e.npy", "--sensitive", "sex"]
    some = people().drop(columns=["id", "approved"])[:30]
    some.to_parquet("some.parquet")
    np.save("e.npy", np.array([[0, 1, 2], [1, 2, 3]]))
    typed += ["--features", "some.parquet"]
    assert main(["store", *typed, "--out", str(tmp_path / "own")]) == 0
    capsys.readouterr()
    embed = ["embed", model, "--out", str(tmp_path / "z.npy")]
    assert main([*embed, str(tmp_path / "own")]) == 2
    assert "fairgear store --model" in capsys.readouterr().err
    assert main(["store", *typed, "--out", str(tmp_path / "some"), "--model", model]) == 0
    assert main([*embed, str(tmp_path / "some")]) == 0
    rows = np.load(tmp_path / "z.npy")
    assert len(rows) == 30
    x = open_stored(tmp_path / "some").x
    assert np.array_equal(x.numpy(), open_stored("graph").x[:30].numpy())


def test_masks_of_a_stored_graph_are_its_split(tmp_path: Path) -> None:
    parted = split(open_stored("graph"), "sixty-twenty-twenty", seed=9)
    write_stored(parted, tmp_path / "parted")
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "parted"), *small(5), "--quick", "--out", str(out)]) == 0
    assert yaml.safe_load((out / "config.yaml").read_text())["split"] == "given"
    table = pd.read_parquet(out / "predictions.parquet")
    assert (table.split == "test").tolist() == parted.test_mask.tolist()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["store", *EDGES, *TYPED, "--drop", "age", "--out", "graph"], "a folder with files in it"),
        (["store", *EDGES, *TYPED, "--out", "people.parquet"], "a file of that name"),
        (["store", *EDGES, *TYPED, "--out", "new", "--memory", "0"], "--memory: got 0"),
        (["store", *EDGES, *TYPED, "--out", "new", "--model", "nosuch"], "encoding.json"),
        (["store", *EDGES, *TYPED, "--out", "new", "--missing", "drop"], "refuse or impute"),
        (["store", *EDGES, *TYPED, "--out", "new", "--drop", "nosuch"], "--drop: got 'nosuch'"),
        (["store", *EDGES, *TYPED[:4], "--out", "new"], "--sensitive"),
        (["store", "--edges", "no.npy", *TYPED, "--out", "new"], "no such file"),
        (["store", "--edges", "people.parquet", *TYPED, "--out", "new"], "which is nobody"),
        (["run", "graph", "--label", "approved"], "built with settings of its own"),
        (["run", "graph", "--graph-seed", "1"], "--graph-seed"),
        (["run", "graph", "--split", "given", "--out", "new"], "no labelled people"),
        (["embed", "runs/graph-gear-0/model", "graph", "--out", "z.npy", "--scores"], "--scores"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(
    typed: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {str(path) for path in here.rglob("*")}
    assert main(typed) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert {str(path) for path in here.rglob("*")} == before


def test_a_graph_that_is_there_already_is_not_built_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("graph").iterdir()}
    assert main(["store", *EDGES, *TYPED, "--out", "graph", "--memory", "2"]) == 0
    captured = capsys.readouterr()
    assert "nothing to do" in captured.err
    assert "Wrote" not in captured.out
    assert {path: path.stat().st_mtime_ns for path in Path("graph").iterdir()} == before


def test_json_is_all_there_is_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", *EDGES, *TYPED, "--out", str(tmp_path / "g"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == json.loads((tmp_path / "g" / "meta.json").read_text())
    assert (facts["nodes"], facts["edges"]) == (400, rows_of_friends().shape[1])


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        (["--sensitive", "age<40"], ("age>=40", "age<40")),
        (["--sensitive", "job", "--against", "clerk"], ("clerk", "not clerk")),
    ],
)
def test_two_groups_out_of_anything_and_no_free_text(
    typed: list[str], names: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = people().drop(columns="id").assign(note=[f"note no {i}" for i in range(400)])
    noted.to_parquet(tmp_path / "p.parquet")
    command = ["store", *EDGES, "--features", str(tmp_path / "p.parquet"), *typed]
    command += ["--label", "approved", "--out", str(tmp_path / "g")]
    assert main(command) == 2
    assert "--drop-text" in capsys.readouterr().err
    assert main([*command, "--drop-text"]) == 0
    assert "left out column 'note': free text" in capsys.readouterr().err
    graph = open_stored(tmp_path / "g")
    first = noted.age < 40 if "age<40" in names else noted.job != "clerk"
    assert graph.sens_names == names
    assert graph.sens.tolist() == first.astype(int).tolist()
    assert "note" not in " ".join(graph.feature_names)
    # A model of these people codes others alike, and `--against` need not be typed again.
    others = [*command[:-1], str(tmp_path / "again"), "--model", str(tmp_path / "g")]
    assert main([word for word in others if word not in ("--against", "clerk")]) == 0
    again = open_stored(tmp_path / "again")
    assert np.array_equal(again.x.numpy(), graph.x.numpy())
    assert again.sens.tolist() == graph.sens.tolist()

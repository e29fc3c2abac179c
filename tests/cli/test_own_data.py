"""Runs on one's own data, from the command to the files that it leaves."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from fairgear.cli import main
from fairgear.datasets import FileOptions, GraphSource
from fairgear.graph import TableColumns, read_graph
from fairgear.graph.tables import Encoding
from fairgear.methods import load_model
from fairgear.runs.config import RunConfig
from tests.cli.test_run import settled, small
from tests.graph.people import FRIENDS, PEOPLE, network, nx, people, pyg_data

RIGHT = ["--label", "approved", "--sensitive", "sex"]
GCN = ["--method", "gcn", "--set", "steps=5", "--device", "cpu"]
DOCS = Path(__file__).parents[2] / "docs" / "guides" / "your-data.md"


def run(*typed: str) -> int:
    return main(["run", *typed, *small(20), "--quick"])


def run_logistic(*typed: str) -> int:
    """Where it does not matter what is trained."""
    return main(["run", *typed, "--method", "logistic", "--quick"])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with people.csv and a run on it in the default place."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "people.csv").write_bytes(PEOPLE.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run("people.csv", *RIGHT, "--similarity", "0.7", "--positive", "no") == 0
    return folder


def out(folder: Path) -> Path:
    return folder / "runs" / "people-gear-0"


def test_a_run_leaves_a_report_in_the_words_of_the_data(finished: Path) -> None:
    left = {entry.name for entry in out(finished).iterdir()}
    assert left == {
        *("config.yaml", "audit.json", "people.parquet", "predictions.parquet"),
        *("model", "report.html", "model-card.md", "people.csv", "SHA256SUMS"),
    }
    table = people()
    predicted = pd.read_parquet(out(finished) / "predictions.parquet")
    assert predicted.node_id.tolist() == list(range(400))
    assert predicted.node_name.tolist() == table.id.tolist()
    assert predicted.y_name.tolist() == table.approved.tolist()
    assert predicted.sens_name.tolist() == table.sex.tolist()
    assert predicted.y.tolist() == (table.approved == "no").astype(int).tolist()
    assert predicted.label_name.tolist() == np.where(predicted.label == 1, "no", "yes").tolist()
    assert predicted.split.value_counts().to_dict() == {"train": 240, "val": 80, "test": 80}
    results = json.loads((out(finished) / "audit.json").read_text())
    assert results["metrics"]["auroc"] is not None
    assert results["graph"]["name"] == "people"
    assert "people.csv" in (out(finished) / "report.html").read_text()


def test_the_settings_hold_all_that_was_typed(finished: Path, tmp_path: Path) -> None:
    settings = yaml.safe_load((out(finished) / "config.yaml").read_text())
    data = settings["data"]
    assert settings["dataset"] == "people.csv"
    typed = {"label": "approved", "sensitive": "sex", "similarity": 0.7, "positive": "no"}
    assert typed.items() <= data.items()
    assert re.fullmatch("[0-9a-f]{64}", data["sha256"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished)
        config = str(out(finished) / "config.yaml")
        assert main(["run", "--config", config, "--out", str(tmp_path / "again")]) == 0
    one, other = (
        json.loads((folder / "audit.json").read_text())
        for folder in (out(finished), tmp_path / "again")
    )
    assert one["metrics"] == other["metrics"]
    assert one["provenance"]["graph_fingerprint"] == other["provenance"]["graph_fingerprint"]


def test_changed_data_are_not_the_same_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["people.csv", *RIGHT, "--similarity", "0.7", "--positive", "no"]
    config = out(finished) / "config.yaml"
    results = (out(finished) / "audit.json").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished)
        assert run(*command) == 0
        assert "nothing to do" in capsys.readouterr().err
        before = Path("people.csv").read_text()
        Path("people.csv").write_text(before.replace("P0000,62", "P0000,61"))
        try:
            assert run(*command) == 2
            said = capsys.readouterr().err
            assert "a run on people.csv before its content changed" in said
            assert said.count("\n") == 1
            again = ["--config", str(config), "--out", str(tmp_path / "out")]
            assert main(["run", *again]) == 2
            assert "other content than when these settings were written" in capsys.readouterr().err
            assert not (tmp_path / "out").exists()
            assert settled("people.csv", *again[:2], out=tmp_path / "out").data.label == "approved"
        finally:
            Path("people.csv").write_text(before)
    assert (out(finished) / "audit.json").read_bytes() == results


def test_embed_takes_the_same_options_and_needs_no_label(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, z = str(out(finished) / "model"), tmp_path / "z.parquet"
    typed = ["--sensitive", "sex", "--similarity", "0.7", "--drop", "approved"]
    assert main(["embed", model, str(PEOPLE), *typed, "--out", str(z)]) == 0
    table = pd.read_parquet(z)
    assert table.node_name.tolist() == people().id.tolist()
    assert list(table.columns) == ["node_id", "node_name", *(f"z{i}" for i in range(8))]
    capsys.readouterr()
    for wrong in (
        [str(PEOPLE), "--similarity", "0.7"],
        ["synthetic", "--sensitive", "sex"],
        [str(PEOPLE), *typed, "--graph-seed", "1"],
        [str(PEOPLE), "--sensitive", "sex", "--similarity", "0.7", "--drop", "approved", "job"],
    ):
        assert main(["embed", model, *wrong, "--out", str(tmp_path / "no.npy")]) == 2
        assert "fairgear: " in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["z.parquet"]


def embedded(model: Path, table: pd.DataFrame, *typed: str) -> pd.DataFrame:
    """Representations of a table's people by name; in the folder we are in."""
    table.to_csv("others.csv", index=False)
    arguments = [str(model), "others.csv", "--sensitive", "sex", *typed, "--out", "z.parquet"]
    assert main(["embed", *arguments]) == 0
    return pd.read_parquet("z.parquet").set_index("node_name").drop(columns="node_id")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models trained on the edges of people with gaps, and on standardized similarity."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        gaps = people().assign(
            debt=people().debt.where(people().index % 7 != 0),
            job=people().job.where(people().index % 5 != 0),
        )
        gaps.to_csv("people.csv", index=False)
        given = ["--edges", str(FRIENDS), "--missing", "impute", "--drop", "age"]
        assert run("people.csv", *RIGHT, *given, "--out", "listed") == 0
        people().to_csv("people.csv", index=False)
        similar = ["--similarity", "0.7", "--standardize"]
        assert run("people.csv", *RIGHT, *similar, "--out", "similar") == 0
        gaps.to_csv("gaps.csv", index=False)
    return folder


LIST = ["--edges", str(FRIENDS), "--missing", "impute"]


def test_embed_reads_other_people_as_the_training_was_read(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, table = trained / "listed" / "model", pd.read_csv(trained / "gaps.csv")
    config = yaml.safe_load((trained / "listed" / "config.yaml").read_text())
    config |= {"dataset": str(trained / "gaps.csv")}
    graph = RunConfig.from_dict(config | {"data": config["data"] | {"sha256": ""}}).load()
    before = load_model(model, device="cpu").embed(graph)
    again = embedded(model, table, *LIST)
    assert np.array_equal(again.to_numpy(), before)
    swapped = table[[*table.columns[::-1]]].assign(useless="text")
    pd.testing.assert_frame_equal(embedded(model, swapped, *LIST), again)
    outlier = {"id": "stranger", "income": 1e9, "debt": -1e9, "owner": True, "sex": "male"}
    more = pd.concat([table, pd.DataFrame([outlier])])
    pd.testing.assert_frame_equal(embedded(model, more, *LIST).iloc[:-1], again)
    alone = embedded(model, table[table.sex == "female"][:9], "--similarity", "0.5", *LIST[2:])
    assert len(alone) == 9


def test_embed_standardizes_by_the_training(
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model, typed = trained / "similar" / "model", ["--similarity", "0.7", "--standardize"]
    again = embedded(model, people(), *typed)
    graph = read_graph(
        PEOPLE,
        TableColumns(label="approved", sensitive="sex", similarity=0.7, standardize=True),
    )
    assert np.array_equal(again.to_numpy(), load_model(model, device="cpu").embed(graph))
    encoding = Encoding.read(model / "encoding.json")
    assert encoding.names == ["age", "income", "debt", "job", "city", "owner", "sex"]
    columns = TableColumns(sensitive="sex", similarity=0.7, standardize=True)
    few = read_graph(PEOPLE, columns, encoding=encoding).raw
    people()[:50].to_csv("few.csv", index=False)
    fewer = read_graph("few.csv", columns, encoding=encoding).raw
    assert few is not None
    assert fewer is not None
    assert torch.equal(fewer, few[:50])
    capsys.readouterr()
    assert embedded(model, people()[:1], *typed).shape == (1, 8)
    assert "--similarity 0.7 joins nobody" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "typed", "said"),
    [
        (lambda t: t.drop(columns="income"), [], "column 'income', which the model was trained on"),
        (lambda t: t, ["--drop", "income"], "got --drop income"),
        (lambda t: t.assign(job="pilot"), [], "got 'pilot', which the model was not trained on"),
        (lambda t: t.assign(sex="other"), [], "got 'other', which the model was not trained on"),
        (lambda t: t.assign(income=[f"n{i}" for i in range(400)]), [], "got no numbers, such as"),
        (lambda t: t.assign(income="high"), [], "column 'income': got no numbers, such as 'high'"),
        (lambda t: t, ["--sensitive", "owner"], "'sex', as the model was trained"),
        (lambda t: t, ["--sensitive-one", "female"], "'male', as the model was trained"),
        (lambda t: t.drop(columns="sex"), [], "column 'sex', which the model was trained on"),
    ],
)
def test_embed_refuses_what_the_model_cannot_read(
    change: Callable[[pd.DataFrame], pd.DataFrame],
    typed: list[str],
    said: str,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    change(people()).to_csv("others.csv", index=False)
    group = [] if "--sensitive" in typed else ["--sensitive", "sex"]
    arguments = ["others.csv", *group, *LIST, *typed, "--out", "z.npy"]
    assert main(["embed", str(trained / "listed" / "model"), *arguments]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert said in line
    assert not Path("z.npy").exists()


def test_embed_refuses_another_comparison_and_a_damaged_encoding(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(trained / "similar" / "model", model)
    typed = [str(model), str(PEOPLE), "--sensitive", "sex", "--similarity", "0.7"]
    assert main(["embed", *typed, "--out", str(tmp_path / "z.npy")]) == 2
    assert "Next: add --standardize." in capsys.readouterr().err
    for damage in ("{", "[]", '{"format": 1}', '{"format": 2}'):
        (model / "encoding.json").write_text(damage)
        assert main(["embed", *typed, "--standardize", "--out", str(tmp_path / "z.npy")]) == 2
        assert "no encoding of a table" in capsys.readouterr().err


def test_the_masks_of_a_pyg_file_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = pyg_data()
    part = torch.arange(400) % 4
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 3
    torch.save(data, "g.pt")
    typed = ["g.pt", "--label", "y", "--sensitive", "sens", "--id", "person"]
    assert run_logistic(*typed, "--out", "kept") == 0
    assert "the split is that of the file's masks: 100 for training" in capsys.readouterr().err
    predicted = pd.read_parquet("kept/predictions.parquet")
    expected = [{0: "train", 1: "val", 3: "test"}.get(i % 4, "") for i in range(400)]
    assert predicted.split.tolist() == expected
    assert yaml.safe_load(Path("kept/config.yaml").read_text())["split"] == "given"
    # The same command resumes it, and its settings repeat it.
    assert run_logistic(*typed, "--out", "kept") == 0
    assert "nothing to do" in capsys.readouterr().err
    assert main(["run", "--config", "kept/config.yaml", "--out", "again"]) == 0
    again = pd.read_parquet("again/predictions.parquet")
    assert again.split.tolist() == expected
    capsys.readouterr()
    assert run_logistic(*typed, "--split", "sixty-twenty-twenty", "--out", "drawn") == 0
    assert "the masks of the file are not used" in capsys.readouterr().err
    drawn = pd.read_parquet("drawn/predictions.parquet")
    assert drawn.split.value_counts().to_dict() == {"train": 240, "val": 80, "test": 80}
    data.val_mask = torch.zeros(400, dtype=torch.bool)
    torch.save(data, "g.pt")
    assert run_logistic(*typed, "--out", "without") == 0
    config = yaml.safe_load(Path("without/config.yaml").read_text())
    assert config["split"] == "sixty-twenty-twenty"


def test_brackets_in_the_name_of_a_file_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a[").mkdir()
    for name in ("people[copy].csv", "a[/b].csv", "x:smile:.csv"):
        Path(name).write_bytes(PEOPLE.read_bytes())
        assert run_logistic(name, *RIGHT, "--similarity", "0.7", "--out", f"{len(name)}") == 0
        assert f"logistic on {name}" in capsys.readouterr().out


def test_graphs_and_edge_lists_run_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(pyg_data(), "g.pt")
    nx.write_graphml(network(), "g.graphml")
    people().to_parquet("g.parquet")
    commands = [
        ["g.pt", "--label", "y", "--sensitive", "sens", "--id", "person"],
        ["g.graphml", *RIGHT],
        ["g.parquet", *RIGHT, "--edges", str(FRIENDS)],
    ]
    found: list[Any] = []
    for number, typed in enumerate(commands):
        # A network that reads the edges and is quickly trained.
        assert main(["run", *typed, *GCN, "--quick", "--out", str(number)]) == 0
        results = json.loads((tmp_path / str(number) / "audit.json").read_text())
        found.append((results["provenance"]["graph_fingerprint"], results["metrics"]))
        predicted = pd.read_parquet(tmp_path / str(number) / "predictions.parquet")
        assert predicted.node_name.tolist() == people().id.tolist()
    assert found[1] == found[2]
    assert found[0][0] == found[1][0]
    # A tensor has no names, so nobody knows that some of its columns are one category.
    plain, named = (
        {key: value for key, value in metrics.items() if "delta_cf" not in key}
        for _, metrics in found[:2]
    )
    assert plain == named


def test_whole_numbers_as_ids_need_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people().assign(id=np.arange(400) + 2**53 + 1).to_csv("p.csv", index=False)
    similar = ["--similarity", "0.7", "--standardize"]
    assert run_logistic("p.csv", *RIGHT, *similar, "--drop", "job", "city") == 0
    predicted = pd.read_parquet("runs/p-logistic-0/predictions.parquet")
    assert predicted.node_id.tolist() == [2**53 + 1 + i for i in range(400)]
    assert "node_name" not in predicted


def test_the_released_split_is_balanced_by_the_smaller_class() -> None:
    settings = {"label": "approved", "sensitive": "sex", "edges": str(FRIENDS)}
    source = {"dataset": str(PEOPLE), "split": "released", "data": settings}
    graph = GraphSource.from_dict(source).load()
    counts = [int((graph.y == label).sum()) for label in (0, 1)]
    trained = graph.y[graph.train_mask]
    assert len(trained) == 2 * (min(counts) // 2)
    assert int(trained.sum()) == min(counts) // 2


def test_data_settings_in_a_file_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "settings.yaml"
    for text, said in (
        ("data: {labl: x}", "unknown key 'labl'"),
        ("data: {drop: age}", "a list of column names"),
        ("data: {drop: [1]}", "a list of column names"),
        ("data: 3", "setting data"),
        ("data: {similarity: yes}", "setting similarity"),
        ("data: {label: x}", "--label: got the dataset 'synthetic'"),
    ):
        path.write_text(text)
        assert main(["run", "--config", str(path), "--out", str(tmp_path / "out")]) == 2
        assert said in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings.yaml"]


def test_a_file_named_like_a_dataset_stays_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("synthetic").write_text("a file")
    Path("other").write_text("a file")
    assert main(["run", "synthetic", "--label", "x"]) == 2
    assert "the dataset 'synthetic'" in capsys.readouterr().err
    assert main(["run", "other", *RIGHT, "--similarity", "0.7"]) == 2
    assert "ends in nothing" in capsys.readouterr().err


def test_the_page_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parents[2])
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    sizes = []
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), names)
        sizes.append(names["graph"].num_undirected_edges)
    assert sizes == [len(pd.read_csv(FRIENDS))] * 5
    assert names["graph"].sens_names == ("False", "True")
    assert int(names["graph"].train_mask.sum()) == 240
    assert names["similar"].num_undirected_edges > 0


def test_every_option_is_in_the_help_and_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import fields

    main(["run", "--help"])
    shown = capsys.readouterr().out
    page = DOCS.read_text()
    for item in fields(FileOptions):
        flag = f"--{item.name.replace('_', '-')}"
        assert (flag in shown) == (item.name != "sha256")
        assert (flag in page) == (item.name != "sha256"), flag
    beside = {"edges", "sha256"}
    assert {f.name for f in fields(FileOptions)} - beside == {
        f.name for f in fields(TableColumns)
    } - {"name"}

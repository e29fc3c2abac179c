"""Runs on one's own data, from the command to the files that it leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from fairgear.cli import main
from fairgear.experiments.own_split import balanced_labels
from fairgear.experiments.run_config import RunConfig
from fairgear.experiments.run_data import load_data
from tests.cli.test_run import small
from tests.graph.people import FRIENDS, PEOPLE, network, nx, people, pyg_data

RIGHT = ["--label", "approved", "--sensitive", "sex"]
DOCS = Path(__file__).parents[2] / "docs" / "your-data.md"


def run(*typed: str) -> int:
    return main(["run", *typed, *small(20, 10)])


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
    assert left == {"config.yaml", "metrics.json", "predictions.parquet", "model", "report.html"}
    table = people()
    predicted = pd.read_parquet(out(finished) / "predictions.parquet")
    assert predicted.node_id.tolist() == list(range(400))
    assert predicted.node_name.tolist() == table.id.tolist()
    assert predicted.y_name.tolist() == table.approved.tolist()
    assert predicted.sens_name.tolist() == table.sex.tolist()
    assert predicted.y.tolist() == (table.approved == "no").astype(int).tolist()
    assert predicted.label_name.tolist() == np.where(predicted.label == 1, "no", "yes").tolist()
    assert predicted.split.value_counts().to_dict() == {"train": 240, "val": 80, "test": 80}
    results = json.loads((out(finished) / "metrics.json").read_text())
    assert results["metrics"]["auroc"] is not None
    assert results["details"]["graph"]["name"] == "people"
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
        json.loads((folder / "metrics.json").read_text())
        for folder in (out(finished), tmp_path / "again")
    )
    assert one["metrics"] == other["metrics"]
    assert one["provenance"]["data_sha256"] == other["provenance"]["data_sha256"]


def test_changed_data_are_not_the_same_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["people.csv", *RIGHT, "--similarity", "0.7", "--positive", "no"]
    config = out(finished) / "config.yaml"
    results = (out(finished) / "metrics.json").read_bytes()
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
            with pytest.MonkeyPatch.context() as inner:
                seen: list[RunConfig] = []
                inner.setattr(
                    "fairgear.experiments.run.execute", lambda settings, _: seen.append(settings)
                )
                inner.setattr("fairgear.report.write_page", lambda *_: None)
                inner.setattr("fairgear.cli.run.show", lambda _: None)
                assert main(["run", "people.csv", *again]) == 0
            assert seen[0].data.label == "approved"
        finally:
            Path("people.csv").write_text(before)
    assert (out(finished) / "metrics.json").read_bytes() == results


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
        assert run(*typed, "--out", str(number)) == 0
        results = json.loads((tmp_path / str(number) / "metrics.json").read_text())
        found.append((results["provenance"]["data_sha256"], results["metrics"]))
        predicted = pd.read_parquet(tmp_path / str(number) / "predictions.parquet")
        assert predicted.node_name.tolist() == people().id.tolist()
    assert found[0] == found[1] == found[2]


def test_whole_numbers_as_ids_need_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people().assign(id=np.arange(400) + 2**53 + 1).to_csv("p.csv", index=False)
    assert (
        run("p.csv", *RIGHT, "--similarity", "0.7", "--standardize", "--drop", "job", "city") == 0
    )
    predicted = pd.read_parquet("runs/p-gear-0/predictions.parquet")
    assert predicted.node_id.tolist() == [2**53 + 1 + i for i in range(400)]
    assert "node_name" not in predicted


def test_the_released_split_is_balanced_by_the_smaller_class() -> None:
    settings = {"label": "approved", "sensitive": "sex", "edges": str(FRIENDS)}
    config = RunConfig.from_dict({"dataset": str(PEOPLE), "split": "released", "data": settings})
    graph = load_data(config).graph
    counts = [int((graph.y == label).sum()) for label in (0, 1)]
    trained = graph.y[graph.train_mask]
    assert balanced_labels(graph) == len(trained) == 2 * (min(counts) // 2)
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
    monkeypatch.chdir(DOCS.parents[1])
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

    from fairgear.experiments.data_config import DataConfig
    from fairgear.graph import TableColumns

    main(["run", "--help"])
    shown = capsys.readouterr().out
    page = DOCS.read_text()
    for item in fields(DataConfig):
        flag = f"--{item.name.replace('_', '-')}"
        assert (flag in shown) == (item.name != "sha256")
        assert (flag in page) == (item.name != "sha256"), flag
    beside = {"edges", "sha256"}
    assert {f.name for f in fields(DataConfig)} - beside == {
        f.name for f in fields(TableColumns)
    } - {"name"}

"""A directed, weighted edge list from the shell to a report, and what else is typed about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairgear.cli import main
from fairgear.datasets import FileOptions, GraphSource
from fairgear.graph import open_stored
from fairgear.methods import load_model

N = 240
COLUMNS = ["--label", "hired", "--sensitive", "sex"]
EDGES = ["--edges", "follows.csv", "--directed", "--weight", "hours"]
# A module of a user that reads arcs and weights.
MODELS = """
import torch
from torch_geometric.nn import GCNConv

class Convolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = GCNConv(3, 1)

    def forward(self, x, edge_index, edge_weight=None):
        return self.layer(x, edge_index, edge_weight)

reads_weights = Convolution()
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with people, whom they follow and for how many hours."""
    folder = tmp_path_factory.mktemp("links")
    rng = np.random.default_rng(0)
    sex, age = rng.integers(0, 2, N), rng.normal(size=N)
    score = rng.normal(size=N) + 0.8 * sex
    ids = [f"p{i}" for i in range(N)]
    hired = np.where(score + 0.5 * rng.normal(size=N) > 0.4, "yes", "no")
    groups = np.where(sex == 1, "f", "m")
    people = {"id": ids, "sex": groups, "score": score, "age": age, "hired": hired}
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    source, target = rng.integers(0, N, (2, 6 * N))
    near = np.abs(score[source] - score[target]) < 1
    names, hours = np.array(ids), np.exp(rng.normal(size=6 * N)).round(3)
    follows = {"from": names[source], "to": names[target], "hours": hours}
    pd.DataFrame(follows)[near].to_csv(folder / "follows.csv", index=False)
    (folder / "linked_models.py").write_text(MODELS)
    return folder


@pytest.fixture(autouse=True)
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))


def test_from_an_edge_list_to_a_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["run", "people.csv", *COLUMNS, *EDGES, "--quick", "--set", "steps=20", "--out", "one"]
    assert main([*typed, "--device", "cpu"]) == 0
    said = capsys.readouterr().err
    assert "directed, from the first end to the second, with weights" in said
    page = (here / "one" / "report.html").read_text()
    assert "Edges are held fixed: no law of directed and weighted edges is fitted." in page
    data = yaml.safe_load((here / "one" / "config.yaml").read_text())["data"]
    assert (data["directed"], data["weight"]) == (True, "hours")
    # The saved model scores the graph that the settings describe as the run did.
    graph = GraphSource.from_dict({"dataset": "people.csv", "data": data}).load()
    assert graph.directed
    assert graph.edge_weight is not None
    scores = load_model(here / "one" / "model", device="cpu").predict_proba(graph)[:, 1]
    kept = pd.read_parquet(here / "one" / "predictions.parquet").set_index("node_id")
    order = graph.node_id.tolist()
    np.testing.assert_allclose(kept.loc[order, "score"], scores, atol=1e-6)
    # Another audit of it finds the same.
    few = ["--self-people", "20", "--what-if-people", "3"]
    assert main(["audit", "one", "--out", "again", *few]) == 0
    found = json.loads((here / "again" / "audit.json").read_text())
    assert 0 <= found["metrics"]["delta_cf"] <= 1


def test_a_module_of_a_user_gets_the_weights(here: Path) -> None:
    typed = ["audit", "linked_models:reads_weights", "people.csv", *COLUMNS, *EDGES[:3]]
    more = ["--draws", "1", "--self-people", "2", "--no-other-causal-models"]
    for name, edges in (("with", EDGES[3:]), ("without", [])):
        assert main([*typed, *edges, *more, "--out", f"module-{name}"]) == 0
    one, other = (
        pd.read_parquet(here / f"module-{name}" / "people.parquet") for name in ("with", "without")
    )
    assert not np.allclose(one["score"], other["score"])


def test_exported_worlds_have_arcs_and_weights(here: Path) -> None:
    typed = ["audit", "export", "people.csv", *COLUMNS, *EDGES, "--out", "worlds"]
    assert main([*typed, "--self-people", "1", "--draws", "1", "--no-other-causal-models"]) == 0
    entries = json.loads((here / "worlds" / "key.json").read_text())["worlds"]
    factual = next(entry["path"] for entry in entries if entry["protocol"] == "factual")
    exported = pd.read_csv(here / "worlds" / factual / "edges.csv")
    assert list(exported.columns) == ["source", "target", "weight"]
    listed = pd.read_csv("follows.csv")
    first = listed[listed["from"] != listed["to"]].drop_duplicates(["from", "to"])
    expected = {(int(a[1:]), int(b[1:]), w) for a, b, w in first.itertuples(index=False)}
    assert set(exported.itertuples(index=False, name=None)) == expected
    readme = (here / "worlds" / "for-scoring" / "README.txt").read_text()
    assert "directed, weighted edges" in readme
    assert "weight" in readme


# Started often, so without pandas.
PROGRAM = """
import csv, sys

def rows(name):
    with open(sys.argv[1] + "/" + name) as file:
        return list(csv.DictReader(file))

total = {row["node_id"]: 0.0 for row in rows("nodes.csv")}
for row in rows("edges.csv"):
    total[row["target"]] += float(row["weight"])
with open(sys.argv[2], "w") as file:
    file.write("node_id,score\\n")
    for node, weight in total.items():
        file.write(f"{node},{min(weight / 20, 1)!r}\\n")
"""


def test_a_command_reads_arcs(here: Path) -> None:
    (here / "program.py").write_text(PROGRAM)
    command = f"{sys.executable} -I -S program.py {{graph}} {{scores}}"
    more = ["--draws", "1", "--self-people", "1", "--no-other-causal-models"]
    typed = ["audit", command, "people.csv", *COLUMNS, *EDGES, *more, "--out", "command"]
    assert main(typed) == 0
    found = pd.read_parquet(here / "command" / "people.parquet")
    listed = pd.read_csv("follows.csv")
    first = listed[listed["from"] != listed["to"]].drop_duplicates(["from", "to"])
    total = first.groupby("to").hours.sum()
    ids = "p" + found["node_id"].astype(str)
    np.testing.assert_allclose(found["score"], (ids.map(total).fillna(0) / 20).clip(0, 1))


def test_arcs_are_stored_and_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, follows = pd.read_csv("people.csv"), pd.read_csv("follows.csv")
    people.assign(id=range(N)).to_parquet("people.parquet")
    numbers = {end: follows[end].str[1:].astype(int) for end in ("from", "to")}
    pd.DataFrame(numbers).to_parquet("follows.parquet")
    typed = ["store", "--edges", "follows.parquet", "--features", "people.parquet", *COLUMNS]
    assert main([*typed, "--directed", "--out", "stored"]) == 0
    assert open_stored("stored", verify=True).directed
    assert main(["run", "stored", "--method", "gcn", "--quick", "--out", "of-stored"]) == 0
    capsys.readouterr()
    assert main([*typed, "--weight", "hours", "--out", "other"]) == 2
    assert "no weights in fairgear store" in capsys.readouterr().err


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for number, (typed, message) in enumerate(
        [
            (["--edges", "follows.csv", "--weight", "minutes"], "'minutes'"),
            (["--similarity", "0.7", "--directed"], "neither directions nor weights"),
        ]
    ):
        out = ["--quick", "--out", f"no-{number}"]
        assert main(["run", "people.csv", *COLUMNS, *typed, *out]) == 2
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert message in said


def test_both_ways_can_be_typed() -> None:
    for typed, directed in (({}, None), ({"directed": True}, True), ({"directed": False}, False)):
        assert FileOptions.from_dict({"sensitive": "sex", **typed}).columns().directed is directed

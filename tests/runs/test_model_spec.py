"""What a command line calls a model, and on what data a run's model is audited."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from fairgear import datasets
from fairgear.auditing import CommandAdapter
from fairgear.auditing.world import World
from fairgear.errors import FairgearError, FileError, ParameterError
from fairgear.graph import split
from fairgear.methods import Gear
from fairgear.runs.audit_config import (
    AuditConfig,
    audit_config,
    on_dataset,
    settings_of_run,
    training_people_note,
)
from fairgear.runs.audits import _load, _people, _worlds
from fairgear.runs.model_spec import model_of, saved_model
from tests.auditing.models import small_graph

CODE = """
import torch
from sklearn.linear_model import LogisticRegression

def score(graph):
    return torch.sigmoid(graph.x.sum(dim=1))

class Box:
    inside = staticmethod(score)

module = torch.nn.Bilinear(2, 2, 1)
table = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
number = 3
"""


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with Python files in it, which nothing remembers afterwards."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "audited_code.py").write_text(CODE)
    (folder / "audited_broken.py").write_text("raise OSError('no weights\\nat all')")
    (folder / "audited_syntax.py").write_text("def (")
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        yield folder
    for name in set(sys.modules) - before:
        if name.startswith("audited_"):
            del sys.modules[name]


@pytest.fixture(scope="module")
def saved(here: Path) -> Path:
    graph = small_graph(60)
    Gear(device="cpu", steps=2, dim=8).fit(graph).save(here / "run" / "model")
    return here / "run"


def test_the_folder_of_a_model_or_of_its_run(saved: Path) -> None:
    graph = small_graph(60)
    world = World("factual", "unchanged", 0, graph.sens, lambda: graph)
    answers = []
    for folder in (saved, saved / "model"):
        assert saved_model(str(folder)) == saved / "model"
        adapter = model_of(str(folder), device="cpu")
        assert (adapter.kind, adapter.name) == ("fairgear method", str(folder))
        answers.append(adapter.scores(world, torch.arange(60)).tolist())
    assert answers[0] == answers[1]
    assert model_of(str(saved), threshold=0.25, device="cpu").threshold == 0.25
    assert saved_model("audited_code:score") is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("audited_code:score", "Python callable"),
        ("audited_code:Box.inside", "Python callable"),
        ("audited_code:table", "scikit-learn estimator"),
        ("audited_code:module", "PyTorch module"),
    ],
)
def test_python_objects(text: str, kind: str) -> None:
    adapter = model_of(text)
    assert (adapter.kind, adapter.name, adapter.threshold) == (kind, text, 0.5)


def test_commands() -> None:
    adapter = model_of("score {graph} {scores}", threshold=0, graph_format="npz", timeout=9)
    assert isinstance(adapter, CommandAdapter)
    assert (adapter.name, adapter.threshold) == ("score {graph} {scores}", 0)
    # A colon does not make Python code of it.
    assert isinstance(model_of("host:score {graph}"), CommandAdapter)
    with pytest.raises(ParameterError, match="format of graphs"):
        model_of("score {graph}", graph_format="xml")
    with pytest.raises(ParameterError, match="timeout"):
        model_of("score {graph}", timeout=0)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("audited_nowhere:score", "ModuleNotFoundError: No module named 'audited_nowhere'"),
        ("audited_code:scores", "AttributeError: module 'audited_code' has no attribute 'scores'"),
        ("audited_code:Box.outside", "AttributeError: type object 'Box' has no attribute"),
        ("audited_broken:score", "OSError: no weights"),
        ("audited_syntax:score", "SyntaxError: "),
    ],
)
def test_code_that_cannot_be_had(text: str, got: str) -> None:
    with pytest.raises(ParameterError) as caught:
        model_of(text)
    line = str(caught.value)
    assert line.startswith(f"model {text}: got {got}")
    assert "\n" not in line
    module = text.partition(":")[0]
    assert line.endswith(f"Next: try python -c 'import {module}' in this folder.")


@pytest.mark.parametrize("text", ["audited_code:number", "audited_code:Box"])
def test_objects_that_are_no_models(text: str) -> None:
    with pytest.raises(ParameterError, match="a model to audit"):
        model_of(text)


@pytest.mark.parametrize("text", ["nowhere", "runs/nowhere", "", "score graph", "a b:c"])
def test_what_is_nothing_of_all_this(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        model_of(text)
    assert str(caught.value).startswith(f"MODEL: got {text!r}; allowed: the folder of a run")


def test_exported_worlds_are_scored_not_audited(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text("{}")
    with pytest.raises(FileError, match="Next: run fairgear audit score"):
        model_of(str(tmp_path))


def test_another_dataset_takes_the_split_and_the_columns_of_the_run() -> None:
    run = {
        "dataset": "people.csv",
        "data": {"label": "approved", "edges": "friends.csv", "sha256": "1" * 64},
        "split": "released",
        "seed": 4,
        "graph_seed": 0,
    }
    assert on_dataset(run, None) == on_dataset(run, "people.csv") == run
    shared = {"split": "released", "seed": 4}
    others = {**shared, "dataset": "others.csv", "data": {"label": "approved"}}
    assert on_dataset(run, "others.csv") == others
    assert on_dataset(run, "bail") == {**shared, "dataset": "bail"}
    assert on_dataset({}, "bail") == {"dataset": "bail"}


def test_people_whom_the_model_knows_are_told_of() -> None:
    run = {"dataset": "synthetic", "split": "released", "seed": 4}
    mine = AuditConfig(split="released", seed=4)
    assert training_people_note(run, mine) is None
    assert training_people_note({}, mine) is None
    assert training_people_note(run, replace(mine, dataset="bail")) is None
    for other in (replace(mine, seed=0), replace(mine, nodes="all")):
        assert "The model was trained on some of the audited people" in (
            training_people_note(run, other) or ""
        )


def test_a_runs_settings_say_what_it_kept(tmp_path: Path) -> None:
    said = {"dataset": "synthetic", "split": "released", "seed": 4, "graph_seed": 2}
    (tmp_path / "config.yaml").write_text(
        yaml.safe_dump({**said, "method": "gear", "settings": {"dim": 6}})
    )
    assert settings_of_run(str(tmp_path)) == {}, "no model was saved there yet"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.json").write_text("{}")
    assert settings_of_run(str(tmp_path)) == said
    assert settings_of_run(str(tmp_path / "model")) == said
    assert settings_of_run("audited_code:score") == {}
    graph = _load(audit_config(settings_of_run(str(tmp_path))))
    expected = datasets.load("synthetic", split="released", split_seed=4, seed=2)
    assert graph.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"draws": 0}, "setting draws"),
        ({"self_people": -1}, "setting self_people"),
        ({"level": 1.0}, "setting level"),
        ({"seed": -1}, "setting seed"),
        ({"sed": 1}, "unknown key 'sed'"),
        ({"nodes": "everybody"}, "--nodes"),
        ({"data": {"label": "x"}}, "--label"),
    ],
)
def test_settings_are_checked(values: dict[str, object], named: str) -> None:
    with pytest.raises(FairgearError, match=named):
        audit_config(values)


def test_whom_to_audit(tmp_path: Path) -> None:
    graph = split(small_graph(60)).permute(torch.arange(60).flip(0))

    def chosen(nodes: str) -> list[int]:
        return sorted(graph.node_id[_people(AuditConfig(nodes=nodes), graph)].tolist())

    assert chosen("all") == list(range(60))
    for part in ("test", "val", "train"):
        assert chosen(part) == sorted(graph.node_id[graph[f"{part}_mask"]].tolist())
    ids = tmp_path / "ids.txt"
    for text in ("3\n17\n40\n", "node_id\r\n40\r\n 3 \r\n17", "17\n17\n\n3\n40"):
        ids.write_text(text)
        assert chosen(str(ids)) == [3, 17, 40]
    for text, got in (
        ("3\n60\n-1\n", "2 ids that are not in the graph, the first '60'"),
        ("node_id\n", "no ids"),
        ("", "no ids"),
        ("\ufffd3", "1 ids that are not in the graph"),
    ):
        ids.write_text(text)
        with pytest.raises(ParameterError) as caught:
            chosen(str(ids))
        assert str(caught.value).startswith(f"--nodes {ids}: got {got}")
    ids.write_bytes(b"\xff\xfe3\n")
    with pytest.raises(ParameterError, match="--nodes"):
        chosen(str(ids))


def test_which_causal_model(tmp_path: Path) -> None:
    graph = small_graph(60)

    def name(causal: str) -> str:
        worlds = _worlds(AuditConfig(causal=causal, draws=2, seed=3), graph)
        assert (worlds.draws, worlds.seed, worlds.released_share) == (2, 3, 0.1)
        found = worlds.known_model()
        return f"{found.name} {getattr(found, 'features', '')}".strip()

    assert name("own") == "synthetic"
    assert name("fitted") == "fitted shift"
    assert name("quantile") == "fitted quantile"
    _worlds(AuditConfig(causal="fitted"), graph).known_model().save(tmp_path / "mine")
    assert name(str(tmp_path / "mine")) == "fitted shift"
    with pytest.raises(ParameterError, match="causal model: got 'guess'"):
        name("guess")

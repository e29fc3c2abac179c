from __future__ import annotations

import json
import os
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import people
from fairgear.auditing.exchange import export_worlds, read_manifest
from fairgear.auditing.exchange.manifest import Manifest
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import FittedCausalModel
from fairgear.errors import FileError, ParameterError
from fairgear.files import TEMPORARY
from tests.auditing.models import small_graph

NODES = torch.arange(10, 40)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph(60)


def place_of(key: Manifest, folder: Path, world: str) -> Path:
    """Where a world was written."""
    (entry,) = [entry for entry in key.worlds if entry.name == world]
    return folder / entry.path


@pytest.fixture
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, draws=2, seed=3, protocol="released")


def test_everything_is_there(worlds: Worlds, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    other = World("fitted model", "rate 0", 0, worlds.graph.sens, lambda: worlds.graph)
    about = {"dataset": "synthetic", "sizes": (1, 2)}
    manifest = export_worlds(worlds, folder, nodes=NODES, self_people=4, about=about, extra=[other])
    assert manifest.to_dict() == read_manifest(folder).to_dict()
    found = json.loads((folder / "key.json").read_text())
    assert found["format"] == 5
    assert found["graph_format"] == "csv"
    assert found["fingerprint"] == worlds.fingerprint
    assert found["graph"] == worlds.graph.fingerprint("edge_index", "sens", "node_id")
    causal = worlds.known_model()
    assert found["causal_model"] == {"name": causal.name, "fingerprint": causal.fingerprint()}
    assert (found["draws"], found["seed"], found["released_share"]) == (2, 3, None)
    assert found["audited"] == NODES.tolist()
    assert found["node_ids"] == list(range(60))
    assert found["node_names"] is None
    assert found["about"] == {"dataset": "synthetic", "sizes": [1, 2]}
    chosen = NODES[people.sample(worlds.graph, NODES, 4, 3)].tolist()
    names = [entry["name"] for entry in found["worlds"]]
    assert names == [
        "factual-unchanged-draw-0",
        "edgeless-unchanged-draw-0",
        "placebo-unchanged-draw-0",
        *(
            f"{protocol}-rate-{rate}"
            for protocol in ("released", "strict")
            for rate in ("0-draw-0", "0.5-draw-0", "0.5-draw-1", "1-draw-0")
        ),
        "strict-random-draw-0",
        "strict-random-draw-1",
        *(f"strict-self-{node}-draw-0" for node in chosen),
        "fitted-model-rate-0-draw-0",
    ]
    entry = found["worlds"][-2]
    code = Path(entry["path"]).name
    assert entry == {
        "name": names[-2],
        "protocol": "strict",
        "intervention": f"self {chosen[-1]}",
        "draw": 0,
        "path": f"for-scoring/worlds/{code}",
        "scores": f"for-scoring/scores/{code}.csv",
    }
    # The world of one person: they are flipped, and nobody else is.
    sens = pd.read_csv(folder / entry["path"] / "nodes.csv")["s"].to_numpy()
    assert np.flatnonzero(sens != worlds.graph.sens.numpy()).tolist() == [chosen[-1]]
    readme = (folder / "for-scoring" / "README.txt").read_text()
    codes = sorted(Path(entry["path"]).name for entry in found["worlds"])
    assert f"{len(names)} graphs of the same 60 people" in readme
    assert f"scores/{codes[0]}.csv, with the first line node_id,score\n" in readme
    assert "Features are single-precision numbers" in readme
    assert "--threshold NUMBER" in readme


def test_no_label_and_no_mask_is_written(worlds: Worlds, tmp_path: Path) -> None:
    export_worlds(worlds, tmp_path, nodes=NODES, self_people=0)
    columns = ["node_id", *worlds.graph.feature_names]
    for path in (tmp_path / "for-scoring" / "worlds").iterdir():
        assert sorted(os.listdir(path)) == ["edges.csv", "nodes.csv"]
        assert pd.read_csv(path / "nodes.csv").columns.tolist() == columns


def test_what_is_handed_over_does_not_tell_the_real_graph(
    worlds: Worlds, graph: SensitiveGraph, tmp_path: Path
) -> None:
    keys = [
        export_worlds(worlds, tmp_path / name, nodes=NODES, self_people=2) for name in ("a", "b")
    ]
    place = tmp_path / "a" / "for-scoring"
    assert sorted(os.listdir(tmp_path / "a")) == ["for-scoring", "key.json"]
    assert sorted(os.listdir(place)) == ["README.txt", "scores", "worlds"]
    telling = {entry.protocol for entry in keys[0].worlds} | {"unchanged", "seed", "audited"}
    names = [path.relative_to(place).as_posix() for path in place.rglob("*")]
    text = (place / "README.txt").read_text() + " ".join(names)
    for word in telling:
        assert word not in text, word
    # Nothing that could be computed from the graph, the seed and this code.
    codes = [{entry.name: Path(entry.path).name for entry in key.worlds} for key in keys]
    assert codes[0].keys() == codes[1].keys()
    assert not set(codes[0].values()) & set(codes[1].values())
    # Nor in times, or in how tables are laid out.
    files = [path for path in (place / "worlds").rglob("*") if path.name != "worlds"]
    assert len({path.stat().st_mtime_ns for path in files}) == 1
    tables = [pd.read_csv(path) for path in files if path.name == "nodes.csv"]
    assert len({tuple(table.columns) for table in tables}) == 1
    assert len({tuple(table.dtypes) for table in tables}) == 1
    for table in tables:
        assert table["node_id"].tolist() == graph.node_id.tolist()
    for path in files:
        if path.name == "edges.csv":
            edges = pd.read_csv(path)
            assert edges.equals(edges.sort_values(["source", "target"], ignore_index=True))


def test_one_file_a_world(worlds: Worlds, tmp_path: Path) -> None:
    manifest = export_worlds(worlds, tmp_path, nodes=NODES, self_people=1, format="npz")
    for entry in manifest.worlds:
        assert entry.path.endswith(".npz")
        with np.load(tmp_path / entry.path) as found:
            assert found["x"].shape == worlds.graph.x.shape
    with np.load(place_of(manifest, tmp_path, "strict-rate-0.5-draw-1")) as found:
        np.testing.assert_array_equal(found["x"], worlds.strict[0.5][1].graph.x.numpy())


def test_an_interrupted_export_goes_on(
    worlds: Worlds, graph: SensitiveGraph, tmp_path: Path
) -> None:
    made: list[str] = []

    def counted(worlds: Worlds, stop: int) -> Worlds:
        """Worlds that note when a graph is made, and are interrupted at one of them."""
        make = worlds._counterfactual

        def noted(sens: torch.Tensor) -> SensitiveGraph:
            made.append("")
            if len(made) == stop:
                raise KeyboardInterrupt
            return make(sens)

        worlds._counterfactual = noted  # type: ignore[method-assign]  # a spy
        return worlds

    with pytest.raises(KeyboardInterrupt):
        export_worlds(counted(worlds, 5), tmp_path, nodes=NODES, self_people=3)
    key = read_manifest(tmp_path)
    whole = place_of(key, tmp_path, "factual-unchanged-draw-0") / "nodes.csv"
    before = whole.stat().st_ino
    # A world whose second file was being written when the machine went down.
    half = place_of(key, tmp_path, "strict-rate-0-draw-0")
    (half / "nodes.csv").rename(half / f".nodes.x.csv{TEMPORARY}")
    done = len(made) - 1 - 1
    made.clear()
    fresh = Worlds(graph, draws=2, seed=3, protocol="released")
    manifest = export_worlds(counted(fresh, -1), tmp_path, nodes=NODES, self_people=3)
    assert len(made) == (4 + 2 + 3) - done
    assert whole.stat().st_ino == before
    assert manifest == key
    assert sorted(os.listdir(half)) == ["edges.csv", "nodes.csv"]
    for entry in manifest.worlds:
        assert (tmp_path / entry.path / "nodes.csv").exists()
    made.clear()
    export_worlds(counted(fresh, -1), tmp_path, nodes=NODES, self_people=3)
    assert made == []


def test_a_folder_of_something_else(worlds: Worlds, graph: SensitiveGraph, tmp_path: Path) -> None:
    export_worlds(worlds, tmp_path / "a", nodes=NODES, self_people=0)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.txt").write_text("mine")
    fitted = FittedCausalModel().fit(graph)
    scaled = graph.replace(x=torch.cat([graph.x[:, :1], graph.x[:, 1:] * 2], dim=1))
    export_worlds(Worlds(graph, fitted), tmp_path / "c", nodes=NODES, self_people=0)
    alone = "worlds that differ in people for self, or other causal models"
    for again, folder, self_people, got in (
        (worlds, tmp_path / "a", 1, alone),
        (
            Worlds(graph, draws=2, seed=4, protocol="released"),
            tmp_path / "a",
            0,
            "worlds that differ in seed",
        ),
        (Worlds(scaled, fitted), tmp_path / "c", 0, "worlds that differ in features"),
        (worlds, tmp_path / "b", 0, "other files"),
        (worlds, tmp_path / "b" / "thesis.txt", 0, "not a directory"),
    ):
        with pytest.raises(FileError) as caught:
            export_worlds(again, folder, nodes=NODES, self_people=self_people)
        assert str(caught.value) == (
            f"export folder {folder}: got {got}; allowed: a new or empty folder, or one that the "
            "same export began. Next: choose another folder, or remove that one."
        )


@pytest.mark.parametrize(
    ("about", "got"),
    [
        ({"dataset": "bail", "seed": 3}, "dataset"),
        ({"seed": 4, "data": {"label": "y", "drop": ["b"]}}, "seed and drop"),
        ({"nodes": "all", "draws": 5}, "draws and nodes"),
        ({"self_people": 9}, "self people"),
    ],
)
def test_what_differs_is_named(
    graph: SensitiveGraph, tmp_path: Path, about: dict[str, Any], got: str
) -> None:
    begun = {"dataset": "german", "seed": 3, "draws": 2, "nodes": "test", "self_people": 0}
    begun |= {"data": {"label": "y", "drop": ["a"]}}
    export_worlds(
        Worlds(graph, draws=2, seed=3, protocol="released"),
        tmp_path,
        self_people=0,
        about={"audit": begun},
    )
    # What follows from a setting, such as other draws and other people, is not named beside it.
    again = Worlds(
        graph, draws=about.get("draws", 2), seed=about.get("seed", 3), protocol="released"
    )
    with pytest.raises(FileError) as caught:
        export_worlds(
            again,
            tmp_path,
            nodes=NODES,
            self_people=about.get("self_people", 0),
            about={"audit": {**begun, **about}},
        )
    assert str(caught.value).startswith(
        f"export folder {tmp_path}: got worlds that differ in {got}; allowed"
    )


def test_other_people_to_audit(worlds: Worlds, tmp_path: Path) -> None:
    export_worlds(worlds, tmp_path, nodes=NODES, self_people=0)
    with pytest.raises(FileError, match="got worlds that differ in people to audit;"):
        export_worlds(worlds, tmp_path, nodes=NODES[1:], self_people=0)


def test_people_with_names(graph: SensitiveGraph, tmp_path: Path) -> None:
    named = graph.replace(x=graph.x.double())
    named["node_names"] = tuple(f"p {i}" for i in range(60))
    manifest = export_worlds(Worlds(named), tmp_path, nodes=NODES, self_people=0)
    assert manifest.node_names == [f"p {i}" for i in range(60)]
    for entry in manifest.worlds:
        table = pd.read_csv(tmp_path / entry.path / "nodes.csv")
        assert table["node_name"].tolist() == manifest.node_names
    readme = (tmp_path / "for-scoring" / "README.txt").read_text()
    assert "with the first line node_id,score or node_name,score\n" in readme
    assert "people (node_id, node_name, s, features)" in readme
    assert "nodes.csv: node_id, node_name, s, features." in readme
    assert "Features are double-precision numbers" in readme


def test_a_full_disk_is_seen_before(
    worlds: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 2000))
    with pytest.raises(FileError) as caught:
        export_worlds(worlds, tmp_path, nodes=NODES, self_people=0)
    path = place_of(read_manifest(tmp_path), tmp_path, "factual-unchanged-draw-0")
    assert os.listdir(path.parent) == [path.name]
    size = sum(file.stat().st_size for file in path.iterdir())
    assert str(caught.value) == (
        f"worlds in {tmp_path}: got 2e-06 GB of free disk; allowed: {size * 12 * 1.1 / 1e9:.3g} GB "
        "for 12 worlds. Next: make room, export to another disk, or use fewer self_people or "
        "draws."
    )
    monkeypatch.undo()
    export_worlds(worlds, tmp_path, nodes=NODES, self_people=0)
    assert len(os.listdir(path.parent)) == 13


def test_a_graph_of_one_group_has_few_worlds(graph: SensitiveGraph, tmp_path: Path) -> None:
    x = graph.x.clone()
    x[:, 0] = 1
    alike = graph.replace(x=x, sens=torch.ones_like(graph.sens), mechanism=None)
    manifest = export_worlds(Worlds(alike), tmp_path, nodes=NODES)
    assert manifest.causal_model is None
    assert [entry.protocol for entry in manifest.worlds] == ["factual", "edgeless"]


def test_settings_are_checked(worlds: Worlds, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format of graphs: got 'xml'"):
        export_worlds(worlds, tmp_path, nodes=NODES, format="xml")
    with pytest.raises(ParameterError, match="self_people: got -1; allowed: 0 or more"):
        export_worlds(worlds, tmp_path, nodes=NODES, self_people=-1)
    with pytest.raises(ParameterError) as caught:
        export_worlds(worlds, tmp_path, nodes=NODES, extra=[worlds.placebo])
    assert str(caught.value) == (
        "worlds to export: got two that are both called 'placebo-unchanged-draw-0'; allowed: "
        "names of their own. Next: leave one of them out."
    )
    assert os.listdir(tmp_path) == []


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    message = (
        f"folder {tmp_path}: got no key.json of exported worlds in it; allowed: a folder that "
        "fairgear exported worlds to, with key.json in it. Next: check the path, or export the "
        "worlds again."
    )
    strange = ("{", "[]", '{"format": 4}', '{"format": 5, "worlds": [3]}')
    for content in (None, *strange):
        if content is not None:
            (tmp_path / "key.json").write_text(content)
        with pytest.raises(FileError) as caught:
            read_manifest(tmp_path)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("node_ids", 10**12),
        ("node_ids", [3] * 60),
        ("node_names", ["a"]),
        ("audited", "all"),
        ("draws", [[]]),
        ("worlds", {"": 0}),
        ("scores", "/etc/passwd"),
        ("path", "worlds/../../../x"),
    ],
)
def test_a_key_that_no_export_writes(
    key: str, value: object, worlds: Worlds, tmp_path: Path
) -> None:
    export_worlds(worlds, tmp_path / "out", nodes=None)
    path = tmp_path / "out" / "key.json"
    held = json.loads(path.read_text())
    (held["worlds"][0] if key in held["worlds"][0] else held)[key] = value
    path.write_text(json.dumps(held))
    with pytest.raises(FileError, match="of exported worlds"):
        read_manifest(tmp_path / "out")

"""A stored graph is the graph, read where it lies; what is no longer as stored is noticed."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex
from fairgear.errors import FileError, GraphError
from fairgear.graph import from_tables, open_stored, split, validation, write_stored
from fairgear.graph.stored.folder import META, is_stored
from tests.graph.people import friends, people
from tests.graphs import random_graph


@pytest.fixture
def graph() -> SensitiveGraph:
    return random_graph()


@pytest.fixture
def stored(graph: SensitiveGraph, tmp_path: Path) -> SensitiveGraph:
    write_stored(graph, tmp_path / "g")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return open_stored(tmp_path / "g", verify=True)


def mapped(graph: SensitiveGraph) -> bool:
    """Whether the neighbour lists are those of the files."""
    assert graph.stored is not None
    return np.shares_memory(graph.canonical.csr[1], graph.stored.csr[1])


@settings(max_examples=30)
@given(seed=st.integers(0, 20), edges=st.sampled_from([0, 1, 40]), double=st.booleans())
def test_what_is_written_is_what_is_read(
    seed: int, edges: int, double: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = random_graph(n=12, edges=edges, seed=seed)
    graph = graph.replace(x=graph.x.double()) if double else graph
    graph = graph.permute(torch.randperm(12, generator=torch.Generator().manual_seed(seed)))
    folder = tmp_path_factory.mktemp("stored") / "g"
    write_stored(graph, folder)
    other = open_stored(folder, verify=True)
    assert other.fingerprint() == graph.fingerprint()
    assert other.fingerprint("edge_index", "node_id") == graph.fingerprint("edge_index", "node_id")
    assert set(other.keys()) - set(graph.keys()) == {"stored"}
    index = EgoIndex.build(graph, k=4)
    again = EgoIndex.build(other, k=4)
    assert index.key == again.key
    assert torch.equal(index.ids, again.ids)
    assert torch.equal(index.adjacency, again.adjacency)


def test_names_and_encoding_are_kept(tmp_path: Path) -> None:
    graph = from_tables(people(), friends(), sensitive="sex", label="approved", name="folk")
    write_stored(graph, tmp_path / "g")
    other = open_stored(tmp_path / "g")
    for key in ("name", "node_names", "label_names", "sens_names", "feature_names", "sens_column"):
        assert other[key] == graph[key], key
    assert vars(other.encoding) == vars(graph.encoding)


def test_nothing_is_read_or_checked_again(
    stored: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = stored.fingerprint()
    in_parts = split(random_graph(), seed=3).fingerprint()

    def read(*_: object) -> None:
        raise AssertionError("read again")

    for check in ("check_features", "check_edges", "check_sensitive"):
        monkeypatch.setattr(validation, check, read)
    monkeypatch.setattr("fairgear.graph.sensitive_graph._digest", read)
    monkeypatch.setattr("fairgear.graph.sensitive_graph.sort_edges", read)
    again = open_stored(tmp_path / "g")
    assert again.fingerprint() == expected
    again.fingerprint("edge_index", "node_id")
    # A split changes masks alone; those are checked, and hashed anew.
    monkeypatch.undo()
    for check in ("check_features", "check_edges", "check_sensitive"):
        monkeypatch.setattr(validation, check, read)
    parted = split(again, seed=3)
    assert mapped(parted)
    assert parted.x is again.x
    assert parted.fingerprint() == in_parts


def test_what_is_replaced_is_checked_and_hashed_again(
    stored: SensitiveGraph, graph: SensitiveGraph
) -> None:
    fewer = stored.edge_index[:, (stored.edge_index > 0).all(0)]
    without = stored.replace(edge_index=fewer)
    assert not mapped(without)
    assert without.fingerprint() == graph.replace(edge_index=fewer).fingerprint()
    assert not mapped(stored.permute(torch.randperm(30)))
    with pytest.raises(GraphError, match="NaN"):
        stored.replace(x=torch.full_like(stored.x, float("nan")))
    with pytest.raises(GraphError, match="without their twin"):
        stored.replace(edge_index=stored.edge_index[:, 1:])
    with pytest.raises(GraphError, match="differ from sens"):
        stored.replace(sens=1 - stored.sens)
    assert not mapped(copy.deepcopy(stored))
    assert stored.clone().fingerprint() == graph.fingerprint()


def test_changes_in_place_are_noticed_and_stay_in_memory(
    stored: SensitiveGraph, graph: SensitiveGraph, tmp_path: Path
) -> None:
    stored.x[0, 0] += 1
    assert stored.fingerprint("x") != graph.fingerprint("x")
    stored.edge_index.add_(0)
    assert not mapped(stored)
    assert stored.fingerprint("edge_index") == graph.fingerprint("edge_index")
    assert open_stored(tmp_path / "g", verify=True).fingerprint() == graph.fingerprint()


def test_damage_is_said(stored: SensitiveGraph, tmp_path: Path) -> None:
    folder = tmp_path / "g"
    assert is_stored(folder)
    file = folder / "indices.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(FileError, match=r"indices\.npy with other content"):
        open_stored(folder, verify=True)
    for broken in (whole[:-4], b"", b"nonsense"):
        file.write_bytes(broken)
        with pytest.raises(FileError, match="missing or cut short"):
            open_stored(folder)
    file.unlink()
    with pytest.raises(FileError, match="build it again with fairgear store"):
        open_stored(folder)
    np.save(file, np.zeros(3, np.int32))
    with pytest.raises(FileError, match=r"indices\.npy is int32 of shape \(3,\)"):
        open_stored(folder)


@pytest.mark.parametrize("change", [{"format": 2}, {"masks": None}, {"arrays": {}}, {"nodes": "x"}])
def test_other_facts_are_refused(
    stored: SensitiveGraph, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "g" / META
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileError, match="stored graph"):
        open_stored(tmp_path / "g")
    path.write_text("{")
    with pytest.raises(FileError, match="check the path"):
        open_stored(tmp_path / "g")


@pytest.mark.parametrize(
    "changes", [{"sens_column": 0}, {"sens_column": 99}, {"sens_kind": "unknown"}]
)
def test_what_was_not_checked_when_it_was_stored_is_checked_now(
    stored: SensitiveGraph, changes: dict[str, Any]
) -> None:
    with pytest.raises(GraphError):
        stored.replace(**changes)


def test_edges_are_not_trusted_for_fewer_people(stored: SensitiveGraph) -> None:
    few = {key: stored[key][:3].clone() for key in ("x", "y", "sens", "node_id")}
    masks = {key: stored[key][:3].clone() for key in ("train_mask", "val_mask", "test_mask")}
    with pytest.raises(GraphError, match="edge_index"):
        stored.replace(**few, **masks)

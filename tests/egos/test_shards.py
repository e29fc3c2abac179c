"""Egos that were found in shards are those that are found at once, whatever happens between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex, sharded
from fairgear.egos.index import shared_egos
from fairgear.errors import FileError, ParameterError
from fairgear.graph import open_stored, write_stored
from tests.egos.plain import disconnected_edges, people
from tests.egos.test_index import same

N = 90
GRAPH = people(disconnected_edges(N, 1), N)
WHOLE = EgoIndex.build(GRAPH, k=7)


class Counted:
    """Counts the nodes whose egos are found, and stops after so many shards."""

    def __init__(self, patch: pytest.MonkeyPatch, most: int = 1000) -> None:
        self.nodes: list[int] = []

        def counted(structure: Any, how: Any, rows: Any) -> Any:
            if len(self.nodes) == most:
                raise KeyboardInterrupt
            self.nodes.append(len(rows))
            return shared_egos(structure, how, rows)

        patch.setattr("fairgear.egos.index.shared_egos", counted)


@settings(max_examples=25)
@given(
    shard=st.integers(1, 100),
    how=st.sampled_from([{}, {"rank_by": "visits"}, {"steps": 3}, {"alpha": 0.4}]),
)
def test_shards_are_the_index_bit_for_bit(
    shard: int, how: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("egos")
    index = sharded(GRAPH, folder, shard=shard, k=5, **how)
    assert same(index, EgoIndex.build(GRAPH, k=5, **how))
    assert (index.ids.dtype, index.mask.dtype, index.adjacency.dtype) == (
        torch.int32,
        torch.bool,
        torch.int64,
    )


def test_batches_are_the_same(tmp_path: Path) -> None:
    rows = torch.tensor([3, 80, 3])
    got, expected = (
        index.batch(rows, GRAPH.x) for index in (sharded(GRAPH, tmp_path, shard=40, k=7), WHOLE)
    )
    for name in ("x", "adjacency", "mask", "n_id", "root_n_id"):
        assert torch.equal(getattr(got, name), getattr(expected, name))


def test_an_interrupted_build_goes_on_with_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Counted(patch, most=3)
        with pytest.raises(KeyboardInterrupt):
            sharded(GRAPH, tmp_path, shard=20, k=7)
    with pytest.MonkeyPatch.context() as patch:
        counted = Counted(patch)
        assert same(sharded(GRAPH, tmp_path, shard=20, k=7), WHOLE)
        assert counted.nodes == [20, 10]
        assert "3 of 5 shards are there already" in capsys.readouterr().err
        assert same(sharded(GRAPH, tmp_path, shard=20, k=7), WHOLE)
        assert counted.nodes == [20, 10]


def test_rows_without_their_note_do_not_count(tmp_path: Path) -> None:
    """What is left if the process is killed between the two."""
    sharded(GRAPH, tmp_path, shard=30, k=7)
    (tmp_path / WHOLE.key / "30-60.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        counted = Counted(patch)
        assert same(sharded(GRAPH, tmp_path, shard=30, k=7), WHOLE)
        assert counted.nodes == [30]


@pytest.mark.parametrize("name", ["ids.npy", "mask.npy", "adjacency.npy", "30-60.json"])
def test_a_damaged_shard_is_made_again(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sharded(GRAPH, tmp_path, shard=30, k=7)
    file = tmp_path / WHOLE.key / name
    whole = file.read_bytes()
    at = len(whole) // 2
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.MonkeyPatch.context() as patch:
        counted = Counted(patch)
        assert same(sharded(GRAPH, tmp_path, shard=30, k=7), WHOLE)
        assert counted.nodes == [30]
    assert "rows 30 to 59" in capsys.readouterr().err


@pytest.mark.parametrize("broken", [None, b"", b"nonsense"])
def test_an_array_that_is_gone_or_cut_short_is_made_again(
    broken: bytes | None, tmp_path: Path
) -> None:
    sharded(GRAPH, tmp_path, shard=30, k=7)
    file = tmp_path / WHOLE.key / "ids.npy"
    file.unlink() if broken is None else file.write_bytes(broken)
    assert same(sharded(GRAPH, tmp_path, shard=30, k=7), WHOLE)


def test_other_graphs_and_parameters_have_folders_of_their_own(tmp_path: Path) -> None:
    other = GRAPH.replace(node_id=torch.arange(N).flip(0))
    for graph, k in ((GRAPH, 7), (GRAPH, 6), (other, 7)):
        assert same(sharded(graph, tmp_path, shard=50, k=k), EgoIndex.build(graph, k=k))
    assert len(list(tmp_path.iterdir())) == 3


def test_of_a_stored_graph_nothing_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stored(GRAPH, tmp_path / "g")
    graph: SensitiveGraph = open_stored(tmp_path / "g")

    def sort(*_: object) -> None:
        raise AssertionError("sorted")

    monkeypatch.setattr("fairgear.graph.canonical.csr_from_keys", sort)
    assert same(sharded(graph, tmp_path / "egos", shard=50, k=7), WHOLE)
    assert same(WHOLE.in_world(graph), WHOLE.in_world(graph))


def test_wrong_arguments_and_places(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="shard"):
        sharded(GRAPH, tmp_path, shard=0)
    with pytest.raises(ParameterError, match="65"):
        sharded(GRAPH, tmp_path, k=65)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot write"):
        sharded(GRAPH, tmp_path / "file", k=7)

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from fairgear.egos import EgoIndex, bits, top_k_pagerank
from fairgear.errors import FileError, ParameterError
from tests.egos.plain import complete, disconnected_edges, path, people, random_edges, star

N = 150
GRAPH = people(disconnected_edges(N, 0), N)
INDEX = EgoIndex.build(GRAPH, k=10)


def same(a: EgoIndex, b: EgoIndex) -> bool:
    return (
        torch.equal(a.ids, b.ids)
        and torch.equal(a.mask, b.mask)
        and torch.equal(a.adjacency, b.adjacency)
        and (a.key, a.uncertified) == (b.key, b.uncertified)
    )


def test_members_are_those_of_pagerank() -> None:
    ids, mask = top_k_pagerank(GRAPH.edge_index, N, k=10)
    assert torch.equal(INDEX.ids.long(), ids)
    assert torch.equal(INDEX.mask, mask)
    assert (len(INDEX), INDEX.k) == (N, 10)
    assert not bool(mask.all()), "the graph has small components, or padding is not tested"


def test_node_ids_break_ties() -> None:
    n = 12
    reversed_ids = people(complete(n), n).replace(node_id=torch.arange(n).flip(0))
    assert EgoIndex.build(reversed_ids, k=3).ids[0].tolist() == [0, 11, 10]


@pytest.mark.parametrize("k", [1, 10, 64])
def test_bits_are_the_induced_adjacency(k: int) -> None:
    n = 100
    graph = people(random_edges(n, 250, 1), n) if k == 64 else GRAPH
    n = len(graph.x)
    index = EgoIndex.build(graph, k=k)
    dense = torch.zeros(n, n, dtype=torch.bool)
    dense[graph.edge_index[0], graph.edge_index[1]] = True
    ids = index.ids.long()
    expected = dense[ids[:, :, None], ids[:, None, :]]
    expected &= index.mask[:, :, None] & index.mask[:, None, :]
    assert torch.equal(bits.unpack(index.adjacency), expected)
    if k == 64:
        assert bool(expected[:, :, 63].any()), "the sign bit is used"


def test_k_beyond_a_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="65"):
        EgoIndex.build(GRAPH, k=65)


def test_round_trip(tmp_path: Path) -> None:
    INDEX.save(tmp_path / "folder" / "index.safetensors")
    loaded = EgoIndex.load(tmp_path / "folder" / "index.safetensors", expected_key=INDEX.key)
    assert same(loaded, INDEX)


@pytest.mark.parametrize(
    "change",
    [
        {"k": 11},
        {"alpha": 0.2},
        {"tolerance": 1e-4},
        {"rank_by": "visits"},
        {"steps": 10},
        {"nodes": torch.arange(N)},
    ],
)
def test_every_parameter_changes_the_key(change: dict[str, Any]) -> None:
    assert EgoIndex.build(GRAPH, **{"k": 10, **change}).key != INDEX.key


def test_key_is_of_the_content_not_of_the_name() -> None:
    renamed = GRAPH.replace(name="another", x=GRAPH.x + 1)
    assert EgoIndex.build(renamed, k=10).key == INDEX.key
    fewer = GRAPH.edge_index[:, (GRAPH.edge_index != GRAPH.edge_index[0, 0]).all(0)]
    assert EgoIndex.build(GRAPH.replace(edge_index=fewer), k=10).key != INDEX.key
    assert EgoIndex.build(GRAPH.replace(node_id=torch.arange(N) + 1), k=10).key != INDEX.key


def test_wrong_key_is_refused(tmp_path: Path) -> None:
    INDEX.save(tmp_path / "index")
    with pytest.raises(FileError, match="key"):
        EgoIndex.load(tmp_path / "index", expected_key="0" * 64)


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "index"
    INDEX.save(file)
    whole = file.read_bytes()
    for at in (3, 40, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
        with pytest.raises(FileError, match="build the index again"):
            EgoIndex.load(file)
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="damaged"):
        EgoIndex.load(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "index"
    with pytest.raises(FileError, match="no such file"):
        EgoIndex.load(file)
    file.write_bytes(pickle.dumps({"ids": [1, 2, 3]}))
    with pytest.raises(FileError, match="another kind"):
        EgoIndex.load(file)
    tensors = {"ids": INDEX.ids, "mask": INDEX.mask, "adjacency": INDEX.adjacency}
    save_file(tensors, file, {"key": INDEX.key})
    with pytest.raises(FileError, match="another kind"):
        EgoIndex.load(file)


def test_cache_builds_once_and_never_confuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert same(EgoIndex.cached(GRAPH, tmp_path, k=10), INDEX)
    other = EgoIndex.cached(GRAPH, tmp_path, k=10, alpha=0.5)
    assert other.key != INDEX.key
    assert len(list(tmp_path.iterdir())) == 2

    def build(*_: object, **__: object) -> EgoIndex:
        raise AssertionError("built again")

    monkeypatch.setattr(EgoIndex, "build", build)
    assert same(EgoIndex.cached(GRAPH, tmp_path, k=10), INDEX)


def test_a_cache_that_is_damaged_or_of_another_graph_is_built_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    EgoIndex.cached(GRAPH, tmp_path, k=10)
    other = EgoIndex.cached(GRAPH, tmp_path, k=10, alpha=0.5)
    file = tmp_path / f"{INDEX.key}.safetensors"
    whole = file.read_bytes()
    for broken in (
        whole[:-1] + bytes([whole[-1] ^ 1]),
        whole[: len(whole) // 2],
        b"",
        (tmp_path / f"{other.key}.safetensors").read_bytes(),
    ):
        file.write_bytes(broken)
        assert same(EgoIndex.cached(GRAPH, tmp_path, k=10), INDEX)
        assert "building it again" in capsys.readouterr().err
        assert same(EgoIndex.load(file, expected_key=INDEX.key), INDEX)


def test_uncertified_are_counted() -> None:
    middle = EgoIndex.build(people(path(21), 21), k=6, nodes=torch.tensor([0, 10]))
    assert middle.uncertified == 1
    assert EgoIndex.build(people(star(30), 31), k=5).uncertified == 0

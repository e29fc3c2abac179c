from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairgear.graph import SimilarityRule
from fairgear.graph.similarity_mechanism import cached_edges
from fairgear.tensor_files import write_tensors

RULE = SimilarityRule(0.6)


def some_table(seed: int = 0, n: int = 40) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path))
    return tmp_path / "edges"


def never(self: SimilarityRule, table: object) -> torch.Tensor:
    raise AssertionError("built, though it is in the cache")


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), neighbors=st.sampled_from([None, 1, 4]))
@settings(max_examples=25)
def test_cold_and_warm_give_what_the_rule_gives(seed: int, n: int, neighbors: int | None) -> None:
    rule, table = SimilarityRule(0.7, neighbors), some_table(seed, n)
    with tempfile.TemporaryDirectory() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGEAR_CACHE", cache)
        cold = cached_edges(table, rule)
        expected = rule.edges(table)
        patch.setattr(SimilarityRule, "edges", never)
        warm = cached_edges(table, rule)
    for edges in (cold, warm):
        assert edges.dtype == torch.int64
        assert torch.equal(edges, expected)


def test_the_key_is_the_content_and_the_rule(folder: Path) -> None:
    table = some_table()
    changed = table.copy()
    changed[7, 1] = np.nextafter(changed[7, 1], 2)
    cached_edges(table, RULE)
    assert len(list(folder.iterdir())) == 1
    # Another array with the same values, and in another memory order, is the same table.
    cached_edges(np.asfortranarray(table.copy()), RULE)
    assert len(list(folder.iterdir())) == 1
    for other, rule in [
        (changed, RULE),
        (table.reshape(20, 6), RULE),
        (table, SimilarityRule(0.7)),
        (table, SimilarityRule(0.6, 5)),
    ]:
        before = len(list(folder.iterdir()))
        assert torch.equal(cached_edges(other, rule), rule.edges(other))
        assert len(list(folder.iterdir())) == before + 1


def test_a_new_algorithm_does_not_use_old_edges(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached_edges(some_table(), RULE)
    monkeypatch.setattr("fairgear.graph.similarity_mechanism.ALGORITHM", 2)
    cached_edges(some_table(), RULE)
    assert len(list(folder.iterdir())) == 2


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@settings(max_examples=60)
def test_one_damaged_byte_never_changes_the_edges(place: float, flip: int) -> None:
    table = some_table(1, 25)
    with tempfile.TemporaryDirectory() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGEAR_CACHE", cache)
        expected = cached_edges(table, RULE)
        (path,) = Path(cache, "edges").iterdir()
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] ^= flip
        path.write_bytes(content)
        assert torch.equal(cached_edges(table, RULE), expected)
        # Healed: the next one finds the file whole.
        patch.setattr(SimilarityRule, "edges", never)
        assert torch.equal(cached_edges(table, RULE), expected)


@pytest.mark.parametrize("damage", ["truncated", "empty", "text", "foreign", "another table's"])
def test_a_file_that_is_not_ours_is_replaced_with_one_line(
    damage: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = some_table()
    expected = cached_edges(table, RULE)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(whole[:-10])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not a tensor\n")
    elif damage == "foreign":
        write_tensors(path, {"weights": torch.zeros(2)}, {"checksum": "0"})
    else:
        cached_edges(some_table(1), RULE)
        (other,) = set(folder.iterdir()) - {path}
        path.write_bytes(other.read_bytes())
    capsys.readouterr()
    assert torch.equal(cached_edges(table, RULE), expected)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "damaged" in captured.err
    assert path.read_bytes() == whole


def test_an_unwritable_cache_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "taken"))
    assert torch.equal(cached_edges(some_table(), RULE), RULE.edges(some_table()))
    assert "without a cache" in capsys.readouterr().err


def test_writers_at_the_same_time(folder: Path) -> None:
    table = some_table(3, 200)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: cached_edges(table, RULE), range(12)))
    assert all(torch.equal(edges, RULE.edges(table)) for edges in results)
    assert [path.suffix for path in folder.iterdir()] == [".safetensors"]

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairgear.errors import FileError
from fairgear.files import (
    TEMPORARY,
    remove_leftovers,
    replacing,
    write_json,
    write_text,
    writes,
    written_elsewhere,
)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        write_half()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_places_that_are_no_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for path in (tmp_path, Path(""), file / "below"):
        with pytest.raises(FileError, match="cannot write"):
            write_text(path, "text")
    assert file.read_text() == "mine"


def test_json_is_strict(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": float("nan"), "b": (1, float("-inf")), 3: {"c": 0.5}})
    assert json.loads(path.read_text()) == {"a": None, "b": [1, None], "3": {"c": 0.5}}


def test_dense_keys_take_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    value = {"a": {"b": [1, 2], "c": "x\ny"}, "d": [{"e": float("nan"), "f": (1, 2)}] * 2, "g": 1}
    write_json(path, value, dense=("d",))
    text = path.read_text()
    write_json(path, value)
    assert json.loads(text) == json.loads(path.read_text())
    known = path.read_text().splitlines()
    lines = text.splitlines()
    assert lines[:8] == known[:8]
    assert lines[8:] == ['  "d": [{"e":null,"f":[1,2]},{"e":null,"f":[1,2]}],', '  "g": 1', "}"]


def test_leftovers_of_a_killed_process_go_and_nothing_else(tmp_path: Path) -> None:
    keep = tmp_path / "model" / "weights.safetensors"
    write_text(keep, "mine")
    (tmp_path / "model" / f".weights.x1y2.safetensors{TEMPORARY}").write_text("half")
    remove_leftovers(tmp_path)
    assert [entry.name for entry in keep.parent.iterdir()] == ["weights.safetensors"]


def test_where_another_process_writes_nothing_changes(tmp_path: Path) -> None:
    path, left = tmp_path / "file.txt", tmp_path / f".file.x1y2.txt{TEMPORARY}"
    write_text(path, "old")
    left.write_text("half")
    with written_elsewhere():
        assert not writes()
        with replacing(path) as temporary:
            temporary.write_text("mine")
            assert temporary.parent != tmp_path
        write_text(tmp_path / "new" / "other.txt", "mine")
        remove_leftovers(tmp_path)
        with replacing(tmp_path / "own.txt", by_all=True) as temporary:
            temporary.write_text("mine")
    assert writes()
    assert not temporary.exists()
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, left.name, "own.txt"}
    assert path.read_text() == "old"

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear import evidence
from fairgear.delimited import filled
from fairgear.errors import FileError
from fairgear.evidence import FileHash, code_file, file_hash, folder_hashes, reading


def test_the_hash_is_of_the_bytes_that_were_read(tmp_path: Path) -> None:
    table, other = tmp_path / "people.csv", tmp_path / "other.csv"
    table.write_bytes(b"a,b\r\n1,2\n")
    other.write_bytes(b"x\n")
    before = hashlib.sha256(table.read_bytes()).hexdigest()
    with reading({str(table): "table"}) as read:
        filled(table)
        filled(other)
        table.write_bytes(b"changed after it was read")
    assert read.files == (
        FileHash("table", str(table), before, 9),
        FileHash("data", str(other), hashlib.sha256(b"x\n").hexdigest(), 2),
    )


def test_a_file_that_is_read_twice_is_listed_once_as_it_was_last(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    with reading() as read:
        for content in (b"a", b"bb"):
            table.write_bytes(content)
            filled(table)
    assert [(file.bytes, file.sha256) for file in read.files] == [
        (2, hashlib.sha256(b"bb").hexdigest())
    ]


def test_nothing_is_noted_outside(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with reading() as read:
        pass
    filled(tmp_path / "a")
    evidence.note_file(tmp_path / "a")
    assert read.files == ()


def test_roles_are_those_of_paths_however_they_are_written_and_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph").mkdir()
    for name in ("people.csv", "graph/x.npy", "else.csv"):
        Path(name).write_bytes(name.encode())
    with reading({"./people.csv": "table", "graph": "graph"}, default="other") as read:
        for name in ("people.csv", "graph/x.npy", "else.csv"):
            evidence.note_file(Path(name))
    assert [(file.role, file.path) for file in read.files] == [
        ("table", "people.csv"),
        ("graph", "graph/x.npy"),
        ("other", "else.csv"),
    ]


def test_a_folder_has_every_file_by_name(tmp_path: Path) -> None:
    (tmp_path / "model" / "deep").mkdir(parents=True)
    for name in ("b", "a", "deep/c"):
        (tmp_path / "model" / name).write_text(name)
    found = folder_hashes(tmp_path / "model", "model", name="m")
    assert [file.path for file in found] == ["m/a", "m/b", "m/deep/c"]
    assert found[2].sha256 == hashlib.sha256(b"deep/c").hexdigest()
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 5000)
    assert file_hash(large, "").sha256 == hashlib.sha256(large.read_bytes()).hexdigest()
    assert file_hash(large, "").bytes == 1_280_000


def test_the_source_of_code_is_named_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_mine_here.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert code_file("of_mine_here:x") is None, "not imported yet"
    __import__("of_mine_here")
    assert code_file("of_mine_here:x") == Path("of_mine_here.py")
    assert code_file("of_mine_here") is None
    assert code_file("sys:path") is None, "built in"
    del sys.modules["of_mine_here"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=5))
def test_a_shell_takes_the_command_as_it_was_typed(words: list[str]) -> None:
    with evidence.command(["fairgear", *words]):
        assert shlex.split(evidence.typed_command()) == ["fairgear", *words]
    assert evidence.typed_command() == ""


def test_a_folder_where_a_file_was_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory; allowed: a file one may read"):
        file_hash(tmp_path, "data")

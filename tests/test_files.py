from __future__ import annotations

import errno
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fairgear.errors import FileError
from fairgear.files import (
    TEMPORARY,
    alone_in,
    create,
    new_folder,
    remove_leftovers,
    replacing,
    taking_turns,
    temporary_folder,
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


def killed_while_writing(path: Path) -> Path:
    """The temporary file that a process leaves behind if it is killed."""
    child = os.fork()
    if child == 0:
        with replacing(path) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (left,) = path.parent.glob(f"*{TEMPORARY}")
    return left


def test_what_a_living_process_writes_is_no_leftover(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    left = killed_while_writing(path)
    with replacing(path) as temporary:
        temporary.write_text("mine")
        # That of the killed process has gone already.
        assert list(tmp_path.iterdir()) == [temporary] != [left]
        remove_leftovers(tmp_path)
        write_text(path, "another's")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_on_the_disk_before_its_name_and_the_name_before_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        fsync(handle)

    def replaced(source: Path, target: Path) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with replacing(tmp_path / "file.txt") as temporary:
        pass
    assert done == [temporary.name, "rename", tmp_path.name]
    done.clear()
    with new_folder(tmp_path / "g") as folder:
        (folder / "one").write_text("1")
    assert done == ["one", folder.name, "rename", tmp_path.name]


def test_a_disk_that_cannot_sync_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    write_text(tmp_path / "file.txt", "text")
    assert (tmp_path / "file.txt").read_text() == "text"


@pytest.mark.parametrize("size", [200, 243, 255])
def test_any_name_that_the_system_allows_is_written(size: int, tmp_path: Path) -> None:
    write_text(tmp_path / ("a" * size), "text")
    write_text(tmp_path / ("ü" * (size // 2 - 4) + ".json"), "text")
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(FileError, match="cannot write"):
        write_text(tmp_path / ("a" * 256), "text")


def test_a_file_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "file"
    assert create(path, b"one", private=True)
    assert not create(path, b"two")
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o600

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert not create(path, b"two")
    assert create(path.with_name("other"), b"two")
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["file", "other"]


def test_locks_of_a_folder_that_cannot_be_made_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for lock in (alone_in(tmp_path / "file" / "g"), taking_turns(tmp_path / "file" / "g" / "h")):
        with pytest.raises(FileError, match="cannot write"), lock:
            pass


def test_an_error_of_what_is_done_under_a_lock_stays_what_it_is(tmp_path: Path) -> None:
    for lock in (alone_in(tmp_path), taking_turns(tmp_path / "file")):
        with pytest.raises(ConnectionError), lock:
            raise ConnectionError("another matter")


def test_a_temporary_folder_of_a_killed_process_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    child = os.fork()
    if child == 0:
        with temporary_folder() as folder:
            (folder / "people").write_text("their names")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    with temporary_folder() as folder, temporary_folder() as other:
        assert {folder, other} == set(tmp_path.iterdir())
        assert left not in (folder, other)
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [replacing, new_folder])
def test_what_cannot_be_locked_does_not_stay(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, refused = os.open, list[Any]()

    def full(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT or refused:
            return original(path, flags, *rest, **named)
        refused.append(path)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(FileError, match="Too many open files"), kind(tmp_path / "a.txt"):
            pass
    assert list(tmp_path.iterdir()) == []

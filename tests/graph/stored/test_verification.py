"""Damage to a stored graph is named; what was found good is not read again."""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from fairgear.errors import FileError
from fairgear.files import PARTIAL
from fairgear.graph import TableColumns, build_stored, from_tables, open_stored, write_stored
from fairgear.graph.stored import build, verification
from fairgear.graph.stored import folder as stored_folder
from fairgear.progress import quiet
from tests.graph.people import friends, people
from tests.graphs import random_graph
from tests.hostile.faults import Faults
from tests.hostile.storage import as_folder, as_pipe, flipped, no_file_above
from tests.hostile.stored import IMPOSSIBLE, sealed

ARRAYS = ("x", "y", "sens", "node_id", "train_mask", "edge_index", "indices", "indptr")
FILES = (*(f"{key}.npy" for key in ARRAYS), "node_names.json", "encoding.json", "meta.json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    write_stored(random_graph(), tmp_path / "g")
    return tmp_path / "g"


def in_a_new_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Open it as a new process would; the folders whose content was read."""
    read = []

    def check(folder: Path, *rest: object) -> str | None:
        read.append(folder)
        return check_bytes(folder, *rest)  # type: ignore[arg-type]  # as it was called

    check_bytes = verification.check_bytes
    monkeypatch.setattr(verification, "_good", set())
    with monkeypatch.context() as patch:
        patch.setattr(stored_folder, "check_bytes", check)
        open_stored(folder)
    return read


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.3, 0.7, 1.0])
def test_a_flipped_bit_is_named_with_its_file(name: str, place: float, tmp_path: Path) -> None:
    write_stored(
        from_tables(people(), friends(), sensitive="sex", label="approved"), tmp_path / "g"
    )
    open_stored(tmp_path / "g")
    flipped(tmp_path / "g" / name, place)
    with pytest.raises(FileError, match=r"fairgear store") as error:
        open_stored(tmp_path / "g")
    assert Path(name).stem in str(error.value)
    assert "\n" not in str(error.value)


def test_no_bit_of_a_header_changes_a_graph_without_a_word(folder: Path) -> None:
    whole, expected = (folder / "node_id.npy").read_bytes(), open_stored(folder).fingerprint()
    refused = 0
    for place in range(128):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        (folder / "node_id.npy").write_bytes(bytes(content))
        try:
            assert open_stored(folder).fingerprint() == expected
        except FileError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_no_graph_holds_is_refused_though_hashes_agree(name: str, folder: Path) -> None:
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    sealed(folder, IMPOSSIBLE[name](arrays))
    with pytest.raises(FileError, match=rf"stored graph {folder}") as error:
        open_stored(folder)
    assert "\n" not in str(error.value)
    sealed(folder, arrays)
    assert open_stored(folder).fingerprint() == random_graph().fingerprint()


@pytest.mark.parametrize("damage", [as_pipe, as_folder])
def test_what_is_no_file_is_refused(damage: object, folder: Path) -> None:
    assert callable(damage)
    damage(folder / "x.npy")
    with pytest.raises(FileError, match=r"x\.npy is no file"):
        open_stored(folder)


def test_a_graph_is_read_once_on_a_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It was built here.
    assert in_a_new_process(folder, monkeypatch) == []
    again = folder.with_name("copy")
    os.system(f"cp -r {folder} {again}")
    assert in_a_new_process(again, monkeypatch) == [again]
    assert in_a_new_process(again, monkeypatch) == []


@pytest.mark.parametrize("change", ["touched", "replaced", "another time restored"])
def test_files_that_changed_are_read_again(
    change: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "sens.npy"
    before, content = path.stat(), path.read_bytes()
    if change == "replaced":
        path.unlink()
    path.write_bytes(content)
    if change == "another time restored":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert in_a_new_process(folder, monkeypatch) == [folder]
    assert in_a_new_process(folder, monkeypatch) == []


def test_without_a_cache_each_process_reads_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRGEAR_CACHE", "/dev/null/nowhere")
    assert in_a_new_process(folder, monkeypatch) == [folder]
    assert in_a_new_process(folder, monkeypatch) == [folder]
    monkeypatch.setattr(stored_folder, "check_bytes", None)
    open_stored(folder)


COLUMNS = TableColumns(sensitive="sex", label="approved")


def _build(folder: Path, **changes: object) -> dict[str, object]:
    where = folder / "g", folder / "e.npy", folder / "p.parquet"
    return build_stored(*where, TableColumns(**{**vars(COLUMNS), **changes}))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    people().drop(columns="id").to_parquet(tmp_path / "p.parquet")
    np.save(tmp_path / "e.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    return tmp_path


def _killed_at(name: str, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(build, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        _build(inputs)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_a_build_that_was_killed_at_its_very_end_is_done(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _killed_at("remember_new", inputs, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(build, "write_meta", None)
        meta = _build(inputs)
    assert meta["nodes"] == 400
    assert "nothing to do" in capsys.readouterr().err
    assert open_stored(inputs / "g", verify=True).num_undirected_edges == 3


def test_a_disk_that_fills_up_leaves_nothing_of_a_build(inputs: Path) -> None:
    faults, failed = Faults(calls=("mkstemp", "fsync", "replace")), 0
    before = sorted(inputs.iterdir())
    with quiet():
        for size in (0, 500, 5_000, 20_000):
            with no_file_above(size), pytest.raises(FileError, match="cannot write"):
                _build(inputs)
            assert sorted(inputs.iterdir()) == before
        # Notes in the cache are not needed, and fail in silence.
        while not (inputs / "g").exists():
            with faults.at_the_next(), suppress(FileError):
                _build(inputs)
                failed -= 1
            failed += 1
            assert [path for path in sorted(inputs.iterdir()) if path.name != "g"] == before
    assert failed > 12
    assert open_stored(inputs / "g", verify=True).num_undirected_edges == 3


@pytest.mark.parametrize("change", ["column", "edges", "people", "damage"])
def test_a_folder_of_another_graph_is_refused(change: str, inputs: Path) -> None:
    _build(inputs)
    if change == "edges":
        np.save(inputs / "e.npy", np.array([[0, 1], [1, 2], [2, 4]]))
    elif change == "people":
        people()[::-1].drop(columns="id").to_parquet(inputs / "p.parquet")
    elif change == "damage":
        flipped(inputs / "g" / "meta.json", 0.5)
    with pytest.raises(FileError, match="a folder with files in it"):
        _build(inputs, **({"drop": ("age",)} if change == "column" else {}))


def test_what_a_killed_build_left_goes_with_the_next(
    inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _killed_at("write_meta", inputs, monkeypatch)
    assert len(list(inputs.glob(f".g.*{PARTIAL}"))) == 1
    # That of a build that still runs stays, and so does that of another graph.
    for name in (f".g.alive{PARTIAL}", f".other.left{PARTIAL}"):
        (inputs / name).mkdir()
    handle = os.open(inputs / f".g.alive{PARTIAL}", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    _build(inputs)
    left = {path.name for path in inputs.iterdir()}
    os.close(handle)
    assert left == {"g", "e.npy", "p.parquet", f".g.alive{PARTIAL}", f".other.left{PARTIAL}"}

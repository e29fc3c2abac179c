from __future__ import annotations

import errno
import importlib.util
import io
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fairgear import code_cache, progress
from fairgear.caching import code_folder
from fairgear.compiled import compiled
from tests.hostile.storage import DAMAGE, bomb


def double(x: int) -> int:
    return 2 * x


def triple(x: int) -> int:
    return 3 * x


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(code_cache, "_state", {"writes": True, "cleaned": set()})
    return code_folder()


def started(function: Callable[..., Any]) -> bool:
    """Call it as a new process would; whether its code came from the cache."""
    dispatcher: Any = compiled(function)
    assert dispatcher(7) == function(7)
    return bool(sum(dispatcher.stats.cache_hits.values()) == 1)


def kept(function: Callable[..., Any]) -> Path:
    (path,) = code_folder().glob(f"{function.__name__}-*.code")
    return path


def test_code_is_kept_for_its_owner_alone(folder: Path, tmp_path: Path) -> None:
    assert folder.parent == tmp_path / "cache"
    assert not started(double)
    assert started(double)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"secret": 0o600, kept(double).name: 0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_numba_is_used_where_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    assert not started(double)
    assert kept(double).parent.parent == tmp_path / "own"


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_code_is_compiled_again(name: str) -> None:
    started(double)
    DAMAGE[name](kept(double))
    assert not started(double)
    assert started(double)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_secret_is_made_again(name: str, folder: Path) -> None:
    started(double)
    DAMAGE[name](folder / "secret")
    # One flipped bit makes it another secret, which is as good as the first.
    assert not started(double)
    assert started(double)


def test_what_was_planted_is_not_executed(folder: Path, tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    started(double)
    mac = kept(double).read_bytes()[:32]
    for content in (bomb(trace), mac + bomb(trace), bytes(32) + bomb(trace)):
        kept(double).write_bytes(content)
        assert not started(double)
        assert not trace.exists()
    started(triple)
    kept(double).write_bytes(kept(triple).read_bytes())
    assert not started(double)


def test_numba_s_own_files_are_not_read(tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    source = tmp_path / "planted.py"
    source.write_text("def add(x):\n    return x + 1\n")
    line, version = 1, f"py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    (tmp_path / "__pycache__").mkdir()
    for ending in ("nbi", "1.nbc"):
        name = f"planted.add-{line}.{version}.{ending}"
        (tmp_path / "__pycache__" / name).write_bytes(bomb(trace))
    spec = importlib.util.spec_from_file_location("planted", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not started(module.add)
    assert not trace.exists()


def test_a_secret_that_others_could_read_vouches_for_nothing(folder: Path) -> None:
    started(double)
    before = (folder / "secret").read_bytes()
    (folder / "secret").chmod(0o644)
    folder.chmod(0o755)
    assert not started(double)
    assert started(double)
    assert (folder / "secret").read_bytes() != before
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_somebody_else_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started(double)
    before = {path: path.stat() for path in folder.iterdir()}
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    monkeypatch.setattr(code_cache, "code_folder", lambda: folder)
    assert not started(double)
    assert not started(triple)
    assert {path: path.stat() for path in folder.iterdir()} == before
    assert capsys.readouterr().err.count("\n") == 1


def test_a_link_to_a_folder_is_not_used(folder: Path) -> None:
    started(double)
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    assert not started(double)


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/nowhere", "x" * 300])
def test_nothing_can_be_written(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRGEAR_CACHE", place)
    assert not started(double)
    assert not started(triple)
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "going on without a cache" in shown


@pytest.mark.parametrize("call", ["mkdir", "write", "fsync", "replace", "link"])
def test_a_full_disk_stops_nobody(
    call: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        where: Any = Path if call in ("mkdir", "write") else os
        patch.setattr(where, "write_bytes" if call == "write" else call, full)
        assert not started(double)
        assert not started(triple)
    # Without links a file is renamed into place.
    assert capsys.readouterr().err.count("\n") == (call != "link")
    assert not folder.exists() or not list(folder.glob(".*"))
    code_cache._state["writes"] = True
    assert started(double) == (call == "link")
    assert started(double)


@pytest.mark.parametrize("change", ["sources", "version"])
def test_code_of_other_sources_or_versions_is_replaced(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(double)
    if change == "sources":
        monkeypatch.setattr("fairgear.compiled._sources", lambda folder: "others")
    else:
        monkeypatch.setattr(code_cache, "_versions", lambda: ("another",))
    assert not started(double)
    assert started(double)
    assert kept(double).is_file()


def test_functions_with_variables_of_others_are_not_kept(folder: Path) -> None:
    factor = 5

    def times(x: int) -> int:
        return factor * x

    assert not started(times)
    assert not started(times)
    assert not folder.exists()


def _start_both(barrier: Any) -> None:
    barrier.wait()
    started(double)
    started(triple)


def test_several_processes_start_at_once(folder: Path) -> None:
    started(double)
    for path in folder.iterdir():
        path.unlink()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    processes = [context.Process(target=_start_both, args=(barrier,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert started(double)
    assert started(triple)
    assert len(list(folder.iterdir())) == 3


def test_who_waits_is_told_what_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100, highlight=False)
    monkeypatch.setattr(progress, "_console", console)
    assert not started(double)
    assert "compiling, once per version" in shown.getvalue()
    shown.truncate(0)
    assert started(double)
    assert "compiling" not in shown.getvalue()

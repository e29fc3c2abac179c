from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import code_cache
from fairgear.caching import cache_parts, code_folder
from fairgear.cli import main
from fairgear.cli.cache import PARTS, shown_age, shown_size
from fairgear.compiled import compiled
from fairgear.datasets import DATASETS
from fairgear.datasets.download import RemoteFile, fetch
from fairgear.datasets.names import FILES, NAMES
from fairgear.files import replacing
from fairgear.graph.similarity import SimilarityRule
from fairgear.graph.similarity_mechanism import cached_edges
from fairgear.graph.stored import verification
from tests.processes import started


def double(x: int) -> int:
    return 2 * x


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("FAIRGEAR_DATA", raising=False)
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(code_cache, "_state", {"writes": True, "cleaned": set()})
    return tmp_path / "cache"


class Joined(SimilarityRule):
    """A rule that compiles nothing."""

    def edges(self, table: NDArray[np.float64]) -> Tensor:
        return torch.tensor([[0, 1], [1, 0]])


def fill(folder: Path) -> None:
    """One file of each part, by the code that writes it, except the download."""
    cached_edges(np.eye(4), Joined(0.5))
    compiled(double)(3)
    note = verification._note(folder)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("checked")
    (folder / "datasets" / "nba").mkdir(parents=True)
    (folder / "datasets" / "nba" / "nba.csv").write_text("x" * 1500)


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, int]]:
    assert main(["cache", "list", "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["cache"]
    return {part.pop("part"): part for part in parts}


def test_names_that_need_no_torch_are_those_of_the_datasets() -> None:
    assert tuple(DATASETS) == NAMES
    files = [file.path for _, one in DATASETS.items() for file in one.files]
    assert tuple(dict.fromkeys(files)) == FILES


def test_what_is_written_is_listed_and_cleared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert all(part["files"] == 0 for part in listed(capsys).values())
    assert not folder.exists()
    fill(folder)
    found = listed(capsys)
    assert tuple(found) == PARTS == tuple(part.name for part in cache_parts(FILES))
    assert {name: part["files"] for name, part in found.items()} == dict.fromkeys(PARTS, 1)
    assert found["datasets"]["bytes"] == 1500
    # Each file but the secret is known: nothing is left behind unseen.
    there = {path for path in folder.rglob("*") if path.is_file()}
    known = {file.path for part in cache_parts(FILES) for file in part.files()}
    assert there - known == {code_folder() / "secret"}
    assert main(["cache", "clear", "edges", "datasets"]) == 0
    out = capsys.readouterr().out
    assert "datasets: 1 file, 1.5 kB removed" in out
    left = {name: part["files"] for name, part in listed(capsys).items()}
    assert left == {"datasets": 0, "edges": 0, "compiled": 1, "verified": 1}
    assert main(["cache", "clear", "--all", "--json"]) == 0
    cleared = json.loads(capsys.readouterr().out)["cleared"]
    assert [part["removed"] for part in cleared] == [0, 0, 1, 1]
    assert {path for path in folder.rglob("*") if path.is_file()} == {code_folder() / "secret"}


def test_ages_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(folder)
    path = folder / "datasets" / "nba" / "nba.csv"
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3 * 86400))
    assert 3 * 86400 <= listed(capsys)["datasets"]["oldest_seconds"] < 3 * 86400 + 600
    assert main(["cache", "list"]) == 0
    out = capsys.readouterr().out
    assert "3 days" in out
    assert str(folder) in out.replace("\n", "")


def test_what_others_have_put_there_stays(folder: Path) -> None:
    fill(folder)
    mine = [
        *("datasets/nba/notes.txt", "datasets/mine.csv", "edges/short.safetensors", "readme"),
        *("verified/mine.txt", f"{code_folder().name}/mine.code", f"edges/{'0' * 64}.bak"),
        f"{code_folder().name}-other/double-{'0' * 32}.code",
    ]
    for name in mine:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("mine")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{'1' * 64}.safetensors").write_text("mine")
    # A link is none of ours, and nothing behind one is touched.
    (folder / "edges" / f"{'2' * 64}.safetensors").symlink_to(elsewhere / f"{'1' * 64}.safetensors")
    (folder / "verified" / "deeper").symlink_to(elsewhere)
    assert main(["cache", "clear", "--all"]) == 0
    assert all((folder / name).read_text() == "mine" for name in mine)
    assert (folder / "edges" / f"{'2' * 64}.safetensors").read_text() == "mine"
    assert (folder / "verified" / "deeper" / f"{'1' * 64}.safetensors").exists()


def test_a_folder_of_the_users_is_theirs_even_in_the_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(folder)
    monkeypatch.setenv("FAIRGEAR_DATA", str(folder / "datasets"))
    assert listed(capsys)["datasets"]["files"] == 0
    assert main(["cache", "clear", "--all"]) == 0
    assert (folder / "datasets" / "nba" / "nba.csv").exists()


CONTENT = b"id,label\n1,0\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
# Nobody listens there.
FILE = RemoteFile("nba/nba.csv", "http://localhost:9/none", SHA256, len(CONTENT))


def _use(cache: Path) -> None:
    """The server that starts processes has the environment of an earlier test."""
    os.environ["FAIRGEAR_CACHE"] = str(cache)
    for name in ("FAIRGEAR_DATA", "NUMBA_CACHE_DIR"):
        os.environ.pop(name, None)


def _read_slowly(cache: Path, go: Path, out: Path) -> None:
    _use(cache)
    path = fetch(FILE)
    (out / "fetched").touch()
    while not go.exists():
        time.sleep(0.01)
    (out / "read").write_bytes(path.read_bytes())


def test_a_dataset_that_a_running_command_reads_stays(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "datasets" / FILE.path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    process = started(_read_slowly, folder, tmp_path / "go", tmp_path)
    while not (tmp_path / "fetched").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert main(["cache", "clear", "datasets"]) == 0
    assert "1 in use or not yours, kept" in capsys.readouterr().out
    assert path.exists()
    (tmp_path / "go").touch()
    process.join()
    assert (tmp_path / "read").read_bytes() == CONTENT
    # Its lock has ended with it.
    assert main(["cache", "clear", "datasets"]) == 0
    assert not path.exists()


def test_what_is_being_written_stays(folder: Path) -> None:
    path = folder / "edges" / f"{'3' * 64}.safetensors"
    with replacing(path) as temporary:
        temporary.write_text("half")
        assert main(["cache", "clear", "--all"]) == 0
        assert temporary.exists()
    assert path.read_text() == "half"


def _compile_again(cache: Path, times: int, functions: list[Callable[[int], int]]) -> None:
    _use(cache)
    for number in range(times):
        for function in functions:
            assert compiled(function)(number) == function(number)


def test_code_may_be_cleared_while_others_compile(folder: Path) -> None:
    process = started(_compile_again, folder, 4, [double])
    cleared = 0
    while process.is_alive():
        assert main(["cache", "clear", "compiled"]) == 0
        cleared += 1
    assert process.exitcode == 0
    assert cleared > 0
    assert code_folder().is_dir()


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ([], "got nothing; allowed: datasets, edges, compiled, verified, or --all"),
        (["egos"], "got 'egos'"),
        (["edges", "--all"], "parts and --all"),
    ],
)
def test_what_to_clear_must_be_said(
    typed: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(folder)
    before = listed(capsys)
    assert main(["cache", "clear", *typed]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert named in captured.err
    assert {name: part["files"] for name, part in listed(capsys).items()} == dict.fromkeys(
        before, 1
    )


def test_a_file_of_somebody_else_is_said_and_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(folder)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert main(["cache", "clear", "verified", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["cleared"]
    assert (part["removed"], len(part["in_use"])) == (0, 1)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (123_456, "123 kB"),
        (7_700_000, "7.7 MB"),
        (2.5e12, "2.5 TB"),
        (9e15, "9000 TB"),
    ],
)
def test_sizes(size: float, shown: str) -> None:
    assert shown_size(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "under a minute"),
        (60, "a minute"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (86400 * 1.5, "36 hours"),
        (86400 * 40, "40 days"),
    ],
)
def test_shown_ages(seconds: float, shown: str) -> None:
    assert shown_age(seconds) == shown

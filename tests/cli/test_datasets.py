from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest

from fairgear.cli import main
from fairgear.datasets import GraphStatistics


def test_stats_as_json_is_all_that_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "stats", "synthetic", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert counted["nodes"] == 2000
    assert counted["intra_group_edges"] + counted["inter_group_edges"] == counted["edges"]


def test_list_and_stats_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "list"]) == 0
    assert main(["datasets", "stats", "synthetic", "--split", "released"]) == 0
    out = capsys.readouterr().out
    assert "synthetic" in out
    assert "4,170" in out
    assert main(["datasets", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["datasets"]
    assert [entry["name"] for entry in listed] == [
        "synthetic",
        "synthetic-neighbours",
        "bail",
        "credit",
        "german",
        "nba",
        "meps",
        "meps-expenses",
        "diabetes",
    ]
    assert listed[0]["files"] == []
    assert {"source", "licence", "problems"} <= listed[2].keys()
    assert listed[2]["files"][0]["path"] == "bail/bail.csv"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def published(cache: Path) -> Path:
    """The folder with the published files, where the tests may have it."""
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, "nba", "nba.csv").exists():
        pytest.skip("FAIRGEAR_DATA names no folder with the published files")
    return Path(folder)


def test_stats_of_a_published_graph(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "stats", "german", "--json"]) == 0
    captured = capsys.readouterr()
    counted = json.loads(captured.out)
    assert captured.err == ""
    assert (counted["nodes"], counted["edges"]) == (1000, 21_742)
    assert counted["intra_group_edges"] + counted["inter_group_edges"] == counted["edges"]
    assert list(counted) == [field.name for field in fields(GraphStatistics)]


def test_fetch_says_where_the_files_are(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["datasets", "fetch", "nba", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["files"]
    assert [file["path"] for file in found] == ["nba/nba.csv", "nba/nba_relationship.txt"]
    for file in found:
        assert file["dataset"] == "nba"
        content = Path(file["location"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
    names = ["synthetic", "bail", "credit", "german", "nba", "diabetes"]
    assert main(["datasets", "fetch", *names]) == 0
    out = capsys.readouterr().out
    assert out.count("agrees") == 6
    assert "synthetic" in out


@pytest.mark.parametrize(
    ("names", "named"),
    [(["nba", "nosuch"], "'nosuch'; allowed: synthetic"), (["nba"], "FAIRGEAR_DATA")],
)
def test_fetch_of_what_is_not_there(
    names: list[str],
    named: str,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAIRGEAR_DATA", str(cache / "nowhere"))
    assert main(["datasets", "fetch", *names]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert named in captured.err
    assert not cache.exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["datasets", "stats", "nosuch"], "'nosuch'; allowed: synthetic"),
        (["datasets", "stats", "synthetic", "--seed", "x"], "--seed"),
        (["datasets", "stats", "synthetic", "--split", "nosuch"], "sixty-twenty-twenty, released"),
        (["datasets", "stats"], "DATASET"),
        (["datasets", "stats", "synthetic", "--seed", "-1"], "setting seed: got -1"),
        (["datasets", "stats", "synthetic", "--graph-seed", "-1"], "setting graph_seed: got -1"),
        (["frobnicate"], "frobnicate"),
        (["datasets", "list", "--frobnicate"], "--frobnicate"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert named in captured.err
    assert "Next:" in captured.err


def test_an_error_of_ours_is_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("fairgear.datasets.GraphSource.load", broken)
    assert main(["datasets", "stats", "synthetic"]) == 1
    assert "this is a bug" in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom fairgear.cli import main\nmain(['--help'])\n"
        "heavy = {'torch', 'numba', 'pandas', 'sklearn', 'torch_geometric'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    # Not a benchmark: it only catches help that waits for a library by the seconds.
    assert time.perf_counter() - begin < 10


def test_the_console_script_returns_the_status() -> None:
    command = [sys.executable, "-m", "fairgear", "nosuch"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2

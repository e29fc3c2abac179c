from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from fairgear.cli import main


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
    assert json.loads(capsys.readouterr().out)["datasets"][0]["name"] == "synthetic"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["datasets", "stats", "nosuch"], "'nosuch'; allowed: synthetic"),
        (["datasets", "stats", "synthetic", "--seed", "x"], "--seed"),
        (["datasets", "stats", "synthetic", "--split", "nosuch"], "sixty-twenty-twenty, released"),
        (["datasets", "stats"], "DATASET"),
        (["datasets", "stats", "synthetic", "--seed", "-1"], "seed of the split"),
        (["datasets", "stats", "synthetic", "--graph-seed", "-1"], "seed of the graph"),
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

    monkeypatch.setattr("fairgear.datasets.load_split", broken)
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
    command = [sys.executable, "-m", "fairgear", "datasets", "stats", "nosuch"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2

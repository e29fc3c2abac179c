"""Two commands into one folder at the same time: both end well, or one is refused in one line."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from fairgear.auditing import Audit
from fairgear.auditing.exchange import read_manifest
from fairgear.cli import main
from fairgear.errors import FileError
from fairgear.files import alone_in, holding
from fairgear.runs.folder import RunFolder
from tests.hostile.faults import figures, tiny_inputs, tiny_run
from tests.processes import started

BUSY = "another command that works in it; allowed: one at a time"


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with holding(tmp_path), pytest.raises(FileError, match=BUSY), holding(tmp_path):
        pass
    with holding(tmp_path), holding(Path(__file__)):
        assert list(tmp_path.iterdir()) == []


def test_a_study_that_another_command_is_at_is_refused(tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(FileError, match=BUSY), alone_in(tmp_path):
        pass


def test_a_run_that_another_command_is_at_is_refused_and_goes_on_later(tmp_path: Path) -> None:
    tiny_inputs(tmp_path)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert tiny_run(tmp_path, whole)[0] == 0
    out.mkdir()
    (out / "config.yaml").write_bytes((whole / "config.yaml").read_bytes())
    with RunFolder(out).alone():
        status, said = tiny_run(tmp_path, out)
        assert (status, BUSY in said) == (2, True)
        assert [path.name for path in out.iterdir()] == ["config.yaml"]
    assert tiny_run(tmp_path, out)[0] == 0
    assert figures(out) == figures(whole)
    # A finished one is read by as many as like.
    with RunFolder(out).alone():
        assert tiny_run(tmp_path, out)[0] == 0


def _main(typed: list[str], said: Path) -> None:
    """A command in a process of its own; what it says on stderr is in that file."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
    sys.exit(main(typed))


def commands(typed: list[str], folder: Path, count: int) -> list[tuple[ForkServerProcess, Path]]:
    """The same command in so many processes, and what each says."""
    said = [folder / f"said{i}" for i in range(count)]
    return [(started(_main, typed, path), path) for path in said]


def ended(process: ForkServerProcess, said: Path) -> tuple[int | None, str]:
    process.join()
    return process.exitcode, said.read_text(encoding="utf-8")


def test_refused_commands_do_not_end_the_one_that_runs(tmp_path: Path) -> None:
    tiny_inputs(tmp_path)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert tiny_run(tmp_path, whole)[0] == 0
    typed = ["run", str(tmp_path / "p.csv"), "--edges", str(tmp_path / "f.csv")]
    typed += ["--label", "approved", "--sensitive", "sex", "--device", "cpu", "--quick"]
    typed += ["--set", "steps=3", "--set", "dim=4", "--out", str(out), "--seed"]
    ((first, path),) = commands([*typed, "0"], tmp_path, 1)
    while not (out / "config.yaml").exists() and first.is_alive():
        time.sleep(0.01)
    refused = 0
    while first.is_alive():
        # In this process, since one of its own would come too late.
        status, said = tiny_run(tmp_path, out, seed=1)
        assert (status, "other settings" in said) == (2, True)
        refused += 1
    exit_code, said = ended(first, path)
    assert (exit_code, refused > 0) == (0, True), said
    assert figures(out) == figures(whole)
    assert main(["audit", "verify", str(out)]) == 0


def test_two_audits_leave_one_whole_folder(tmp_path: Path) -> None:
    tiny_inputs(tmp_path)
    assert tiny_run(tmp_path, tmp_path / "run")[0] == 0
    typed = ["audit", str(tmp_path / "run"), "--self-people", "3", "--no-other-causal-models"]
    typed += ["--what-if-people", "1", "--format", "ll144", "--out", str(tmp_path / "out")]
    for process, path in commands(typed, tmp_path, 2):
        exit_code, said = ended(process, path)
        assert exit_code == 0, said
    assert Audit.load(tmp_path / "out").people is not None
    assert main(["audit", "verify", str(tmp_path / "out")]) == 0


def test_two_exports_have_one_key(tmp_path: Path) -> None:
    out = tmp_path / "worlds"
    typed = ["audit", "export", "synthetic", "--self-people", "1", "--no-other-causal-models"]
    typed += ["--draws", "1", "--nodes", "test", "--out", str(out)]
    answers = [ended(process, path) for process, path in commands(typed, tmp_path, 2)]
    assert {exit_code for exit_code, _ in answers} <= {0, 2}
    assert all(exit_code == 0 or BUSY in said for exit_code, said in answers)
    assert 0 in {exit_code for exit_code, _ in answers}
    worlds = {path.name for path in (out / "for-scoring" / "worlds").iterdir()}
    assert worlds == {Path(entry.path).name for entry in read_manifest(out).worlds}

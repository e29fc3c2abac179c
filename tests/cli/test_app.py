"""What all commands have in common: help, and what an interrupted one says."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from fairgear.cli import main
from fairgear.cli.app import app
from tests.processes import started

COMMANDS = [
    "demo",
    "run",
    "data",
    "audit",
    "links",
    "compare",
    "tune",
    "reproduce",
    "judge",
    "report",
    "embed",
    "store",
    "methods",
    "datasets",
    "doctor",
    "cache",
]


def helped(capsys: pytest.CaptureFixture[str], *command: str) -> list[str]:
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_the_help_of_run_fits_two_screens(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(capsys, "run")
    assert len(lines) <= 48
    flags = [word for line in lines for word in line.split() if word.startswith("--")]
    first = [line.split()[1] for line in lines if line.startswith("│ --")]
    assert len(first) == len(set(first)) > 20
    assert not [flag for flag in flags if flag.startswith("--gear")]


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_stand_one_a_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(capsys, command)
    shown = [line.strip() for line in lines[lines.index("Examples:") + 1 :] if line.strip()]
    assert shown
    joined = "\n".join(shown).replace("\\\n", "").splitlines()
    for line in joined:
        assert line.count("fairgear ") == 1
        assert len(line) <= 120
    assert {name for name in app if not name.startswith("-")} == set(COMMANDS)


def test_an_interrupted_audit_says_that_it_starts_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stops.py").write_text("def model(graph):\n    raise KeyboardInterrupt\n")
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "stops:model", "--out", "out"]) == 130
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line == (
        "fairgear: interrupted; an audit does not resume: no results were written, start it again"
    )
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["ENOSPC", "EACCES", "ENAMETOOLONG", "EROFS", "EMFILE", "EIO"])
def test_whatever_the_system_refuses_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    number = getattr(errno, name)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/some/where")

    monkeypatch.setattr("fairgear.runs.config.RunConfig.from_dict", refuse)
    assert main(["run"]) == 1
    error = capsys.readouterr().err
    assert error == (
        f"fairgear: the system refused: {os.strerror(number)} at /some/where. "
        "Next: correct that, and start again.\n"
    )


def test_results_that_nobody_can_take_are_one_line() -> None:
    command = [sys.executable, "-m", "fairgear", "cache", "list"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "No space left on device" in ended.stderr


def test_ctrl_c_that_falls_into_a_callback_is_heard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Deaf:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    def swallowed(*_: object) -> None:
        # Python can only print what is raised here.
        Deaf()
        time.sleep(20)

    monkeypatch.setattr("fairgear.runs.config.RunConfig.from_dict", swallowed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    try:
        assert main(["run"]) == 130
    finally:
        signal.signal(signal.SIGINT, before[0])
    assert sys.unraisablehook is before[1]
    assert capsys.readouterr().err == "fairgear: interrupted; the same command resumes\n"


def run_heard(typed: list[str], err: Path) -> None:
    """Run a command that Ctrl-C reaches; a shell that starts tests in the background hides it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with err.open("w") as file, redirect_stderr(file):
        status = main(typed)
    sys.exit(status)


def test_a_book_that_is_typed_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--seed", "9" * 5000]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) < 1200


def test_ctrl_c_is_status_130(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    typed = ["run", "--out", str(out), "--set", "dim=8", "--device", "cpu"]
    process = started(run_heard, typed, err)
    while not (out / "config.yaml").exists():
        assert process.is_alive()
        time.sleep(0.05)
    assert process.pid is not None
    # Code that is being compiled may swallow the first.
    for _ in range(10):
        if process.is_alive():
            os.kill(process.pid, signal.SIGINT)
            process.join(5)
    process.kill()
    assert process.exitcode == 130
    assert err.read_text().splitlines()[-1] == "fairgear: interrupted; the same command resumes"


def test_flags_that_were_left_out_where_pydantic_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The parser asks it about defaults, once somebody has imported it.
    importlib.import_module("pydantic")
    assert main(["run", "nosuch"]) == 2
    assert "unknown dataset: got 'nosuch'" in capsys.readouterr().err

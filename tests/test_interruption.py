"""Commands that are interrupted where no exception can get through, each in its own process."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import Any

import numba
import pytest

from fairgear import interruption
from fairgear.cli import main
from fairgear.errors import FileError
from fairgear.files import new_folder, remove_own, replacing, temporary_folder
from fairgear.interruption import LAST, PATIENCE, sigterm_unwinds
from fairgear.runs.config import RunConfig
from tests.processes import started

LINES = {
    signal.SIGINT: "fairgear: interrupted; the same command resumes",
    signal.SIGTERM: "fairgear: ended by SIGTERM; the same command resumes",
}
# What a machine that does much else may add.
SLOW = 3.0


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def endless(number: float) -> float:
    """A kernel that does not return."""
    while number > 0:
        number = number % 7 + 1
    return number


def kernel(begun: Callable[[], None]) -> None:
    endless(0.0)
    begun()
    endless(1.0)


def foreign_code(begun: Callable[[], None]) -> None:
    begun()
    ctypes.CDLL(None).sleep(60)


def waiting_for_threads(begun: Callable[[], None]) -> None:
    with ThreadPoolExecutor(2) as pool:
        pool.submit(foreign_code, begun)


def model_that_goes_on(begun: Callable[[], None]) -> None:
    begun()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(60)
        except BaseException:
            # As a model of somebody else might do.
            continue


def python(begun: Callable[[], None]) -> None:
    begun()
    time.sleep(60)


def threads_at_the_exit(begun: Callable[[], None]) -> None:
    # The interpreter waits for it when the command has ended.
    ThreadPoolExecutor(1).submit(foreign_code, begun)
    time.sleep(60)


INTERRUPTED = [
    (kernel, signal.SIGINT, PATIENCE),
    (foreign_code, signal.SIGTERM, 0.3),
    (waiting_for_threads, signal.SIGINT, 0.3),
    (model_that_goes_on, signal.SIGINT, 0.3),
    (model_that_goes_on, signal.SIGTERM, 0.3),
    (python, signal.SIGINT, 0.3),
    (python, signal.SIGTERM, 0.3),
    (threads_at_the_exit, signal.SIGINT, 0.3),
]


def whole_command(
    stuck: Callable[[Callable[[], None]], None], folder: Path, patience: float
) -> None:
    """`fairgear run` that gets stuck while it writes a file, a folder and a temporary folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir = str(folder)
    interruption.PATIENCE = patience

    def from_dict(*_: Any) -> None:
        with (
            replacing(folder / "file") as file,
            new_folder(folder / "folder") as partial,
            temporary_folder() as temporary,
        ):
            for path in (file, partial / "part", temporary / "data"):
                path.write_text("half")
            stuck((folder / "begun").touch)

    RunConfig.from_dict = from_dict  # type: ignore[assignment,method-assign]
    sys.argv = ["fairgear", "run"]
    with (folder / "said").open("w") as said, redirect_stderr(said):
        sys.exit(main())


@pytest.mark.parametrize(("stuck", "number", "patience"), INTERRUPTED)
def test_a_command_ends_in_time_whatever_it_is_doing(
    tmp_path: Path, stuck: Callable[..., None], number: signal.Signals, patience: float
) -> None:
    process = started(whole_command, stuck, tmp_path, patience)
    while not (tmp_path / "begun").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    begun = time.monotonic()
    os.kill(process.pid, number)
    process.join(20)
    assert time.monotonic() - begun < patience + LAST + SLOW
    assert process.exitcode == 128 + number
    assert (tmp_path / "said").read_text().splitlines()[-1] == LINES[number]
    # Nothing half-written and nothing temporary.
    assert sorted(os.listdir(tmp_path)) == ["begun", "said"]


def speechless(folder: Path) -> None:
    """A command whose terminal takes no more words, as one that was stopped with Ctrl-S."""
    writing = os.pipe()[1]
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 2**16)
    except BlockingIOError:
        os.set_blocking(writing, True)
    sys.stderr = os.fdopen(writing, "w")
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def from_dict(*_: Any) -> None:
        foreign_code((folder / "begun").touch)

    RunConfig.from_dict = from_dict  # type: ignore[assignment,method-assign]
    sys.argv = ["fairgear", "run"]
    sys.exit(main())


def test_a_command_ends_also_where_nobody_reads_what_it_says(tmp_path: Path) -> None:
    process = started(speechless, tmp_path)
    while not (tmp_path / "begun").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(20)
    assert process.exitcode == 130


def nothing() -> None:
    time.sleep(60)


def with_workers(folder: Path) -> None:
    """A command whose model ends forked workers by SIGTERM, as pools do."""

    def from_dict(*_: Any) -> None:
        worker = multiprocessing.get_context("fork").Process(target=nothing)
        worker.start()
        time.sleep(0.2)
        worker.terminate()
        worker.join()
        (folder / "ended").write_text(str(worker.exitcode))
        time.sleep(0.8)

    interruption.PATIENCE = 0.3
    RunConfig.from_dict = from_dict  # type: ignore[assignment,method-assign]
    sys.argv = ["fairgear", "run"]
    main()
    (folder / "went on").touch()


def test_signals_of_forked_workers_are_their_own(tmp_path: Path) -> None:
    process = started(with_workers, tmp_path)
    process.join(60)
    assert (tmp_path / "ended").read_text() == str(-signal.SIGTERM)
    assert (tmp_path / "went on").exists()


def test_a_command_inside_a_program_leaves_its_signals_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)

    monkeypatch.setattr("fairgear.runs.config.RunConfig.from_dict", interrupted)
    monkeypatch.setattr(interruption, "PATIENCE", 0.3)
    before = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before[1])
    assert main(["run"]) == 143
    assert (signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)) == before
    assert capsys.readouterr().err == f"{LINES[signal.SIGTERM]}\n"
    # The process is not ended later.
    time.sleep(0.6)


def test_commands_may_run_in_other_threads(capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["--version"]).result() == 0


def unwound(heard: list[int]) -> None:
    with sigterm_unwinds():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        finally:
            assert heard == []


def test_sigterm_unwinds_and_reaches_who_was_there_before() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with pytest.raises(SystemExit) as caught:
            unwound(heard)
        assert (caught.value.code, heard) == (143, [15])
    finally:
        signal.signal(signal.SIGTERM, before)


def test_only_what_this_process_writes_is_removed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("whole")
    with temporary_folder() as folder, suppress(FileError), replacing(tmp_path / "kept") as file:
        file.write_text("half")
        remove_own()
        assert not folder.exists()
    assert os.listdir(tmp_path) == ["kept"]
    assert (tmp_path / "kept").read_text() == "whole"

"""A run on a disk that fills up, or that is killed: one line, nothing by halves, and resumed."""

from __future__ import annotations

import json
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from fairgear.files import PARTIAL, TEMPORARY
from fairgear.training import checkpoints
from tests.hostile.faults import Faults, figures, killed, tiny_inputs, tiny_run
from tests.hostile.storage import no_file_above

# Between fault and fault; there are fewer files than this.
MOST = 40


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    tiny_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert tiny_run(inputs, out)[0] == 0
    return figures(out)


@pytest.fixture(autouse=True)
def checkpoints_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoints, "_TIMES_WRITING", 0.0)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith((TEMPORARY, PARTIAL))]


def one_line(said: str) -> bool:
    return len([line for line in said.splitlines() if line.startswith("fairgear: ")]) == 1


def test_every_write_of_a_run_may_fail(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    faults, status = Faults(calls=("fsync",)), 2
    while status and len(faults.known) < MOST:
        with faults.at_the_next():
            status, said = tiny_run(inputs, tmp_path / "out")
        assert "Traceback" not in said
        assert status in (0, 2)
        if status:
            assert "No space left on device" in said.splitlines()[-1]
            assert one_line(said)
        assert not leftovers(tmp_path)
    assert status == 0
    assert figures(tmp_path / "out") == expected
    names = {"config", "network", "weights", "model", "encoding", "predictions", "report", "audit"}
    seen = " ".join(faults.known)
    assert [name for name in sorted(names) if name not in seen] == []


def _limited(connection: Connection, size: int, inputs: Path, out: Path) -> None:
    with no_file_above(size):
        connection.send(tiny_run(inputs, out))


def _killed(connection: Connection, known: tuple[str, ...], inputs: Path, out: Path) -> None:
    faults = Faults(killed, ("replace", "link"), known)
    faults.note = out.with_name("known.json")
    with faults.at_the_next():
        connection.send(tiny_run(inputs, out))


def in_a_child(work: Any, *args: Any) -> Any:
    """What it sends, or its exit status."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=work, args=(theirs, *args))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        process.join()
        return process.exitcode
    finally:
        process.join()


def test_a_disk_may_fill_up_in_the_middle_of_any_file(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    out, ended = tmp_path / "out", set()
    for size in (0, 900, 3_000, 6_000, 20_000, 100_000):
        status, said = in_a_child(_limited, size, inputs, out)
        assert status in (0, 2), said
        assert "Traceback" not in said
        if status:
            assert "cannot write" in said.splitlines()[-1]
            assert one_line(said)
            ended.add(said.splitlines()[-1].split("cannot write ")[1].split(":")[0])
        assert not leftovers(tmp_path)
    assert len(ended) > 2, ended
    assert tiny_run(inputs, out)[0] == 0
    assert figures(out) == expected


def test_a_run_may_be_killed_at_any_rename(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    out, known = tmp_path / "out", list[str]()
    ended: Any = 9
    while ended == 9 and len(known) < MOST:
        ended = in_a_child(_killed, tuple(known), inputs, out)
        known = json.loads((tmp_path / "known.json").read_text())
    status, said = ended
    assert status == 0, said
    assert not leftovers(tmp_path)
    assert figures(out) == expected
    assert len(known) > 7, known
